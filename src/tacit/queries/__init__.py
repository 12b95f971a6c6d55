"""Statistical queries: an oracle over any engine, and the learners that need nothing else."""

from tacit.queries.conjunction import ConjunctionClassifier
from tacit.queries.conversation import Conversation
from tacit.queries.decision_list import DecisionListClassifier
from tacit.queries.kmeans import SQKMeans
from tacit.queries.naive_bayes import SQNaiveBayes
from tacit.queries.oracle import Answer, StatisticalOracle
from tacit.queries.pca import SQPCA
from tacit.queries.perceptron import SQPerceptron
from tacit.queries.plan import Plan
from tacit.queries.rounds import Rounds
from tacit.queries.tree import SQDecisionTree
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
    "StatisticalOracle",
    "StatisticalQuery",
]
