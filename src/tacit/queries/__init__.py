"""Statistical queries: an oracle over records, and the learners that need nothing else."""

from tacit.queries.learners.conjunction import ConjunctionClassifier
from tacit.queries.learners.decision_list import DecisionListClassifier
from tacit.queries.learners.kmeans import SQKMeans
from tacit.queries.learners.naive_bayes import SQNaiveBayes
from tacit.queries.learners.pca import SQPCA
from tacit.queries.learners.perceptron import SQPerceptron
from tacit.queries.learners.tree import SQDecisionTree
from tacit.queries.oracle.conversation import Conversation
from tacit.queries.oracle.oracle import Answer, StatisticalOracle
from tacit.queries.oracle.plan import Plan
from tacit.queries.oracle.rounds import Rounds
from tacit.queries.oracle.session import Session
from tacit.sums.query import Histogram, Query, RowSums, SecondMoments, StatisticalQuery

__all__ = [
    "SQPCA",
    "Answer",
    "ConjunctionClassifier",
    "Conversation",
    "DecisionListClassifier",
    "Histogram",
    "Plan",
    "Query",
    "Rounds",
    "RowSums",
    "SQDecisionTree",
    "SQKMeans",
    "SQNaiveBayes",
    "SQPerceptron",
    "SecondMoments",
    "Session",
    "StatisticalOracle",
    "StatisticalQuery",
]
