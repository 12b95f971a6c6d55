"""Parts of a model that do not fit together are refused in one clear error, whoever sealed the file."""

import copy

import pytest

import tacit
from support.fitted_models import NAMES, fitted_model
from support.model_bytes import seal, taken_apart
from tacit.errors import ModelFileError


def test_parts_that_do_not_fit_together_are_refused(logistic, refused):
    """A coefficient too few, another number of classes, an array of nobody's: all are seen before predicting."""
    document, numbers = logistic

    def changed(**fitted):
        return seal({**document, "fitted": {**document["fitted"], **fitted}}, numbers)

    refused(changed(n_features_in_=5))
    refused(changed(classes_={"type": "text", "labels": ["a", "b", "c"]}))
    refused(changed(classes_={"type": "text", "labels": ["a", "a"]}))
    refused(changed(classes_={"type": "int8", "labels": [1, 300]}))
    refused(changed(classes_={"type": "float32", "labels": [0.1, 0.2]}))
    refused(changed(intercept_=0))
    refused(changed(margin_=-1e6))
    refused(seal({**document, "arrays": document["arrays"] + [{"type": "bool", "shape": [0]}]}, numbers))
    refused(seal({**document, "further": 1}, numbers))
    refused(seal({**document, "kind": "os.system"}, numbers))
    refused(seal({**document, "kind": "PrivateLogisticRegression"}, numbers))
    document["parameters"]["__class__"] = "x"
    refused(seal(document, numbers))


def test_nodes_that_are_no_tree_are_refused(files, refused):
    """Circles, shared branches, orphans, too many levels, literals about nothing: none reaches `predict` or `rules`."""
    document, numbers = taken_apart(files["tree"])
    leaf = {"shares": [0.5, 0.5], "literal": None, "yes": -1, "no": -1}
    literal = {"feature": 0, "code": 0, "up_to": True, "contrary": False}
    split = {**leaf, "literal": literal}

    def tree(*nodes):
        return seal({**document, "fitted": {**document["fitted"], "nodes_": list(nodes)}}, numbers)

    def node(yes, no, **other):
        return {**split, "yes": yes, "no": no, "literal": {**literal, **other}}

    chain = [leaf if place % 2 else node(place + 1, place + 2) for place in range(22)] + [leaf]
    for nodes in (
        [], [node(0, 0)], [node(1, 1), leaf], [node(1, 2), leaf], [leaf, leaf], [node(1, 2), node(0, 2), leaf],
        [node(2, 1), node(3, 4), leaf, node(1, 4), leaf], [node(1, 2, feature=4), leaf, leaf],
        [node(1, 2, code=99), leaf, leaf], [node(1, 2, code=3), leaf, leaf], chain,
        [node(1, 2), {**leaf, "shares": [1.0]}, leaf],
    ):  # fmt: skip
        refused(tree(*nodes))


def test_learners_whose_parts_do_not_fit_are_refused(files, refused):
    """Features, columns and tables of a learner must be about the same things."""
    document, numbers = taken_apart(files["naive bayes, records"])
    fitted = document["fitted"]
    for name, value in (
        ("features_", fitted["features_"][:-1]),
        ("features_", fitted["features_"][::-1]),
        ("columns_", fitted["columns_"][1:]),
        ("columns_", [[name, {"kind": "flag"}] for name, _ in fitted["columns_"]]),
        ("columns_", fitted["columns_"] + fitted["columns_"][:1]),
    ):
        refused(seal({**document, "fitted": {**fitted, name: value}}, numbers))


@pytest.mark.parametrize("forged", ["x", 1.5, True, [1.0], [["a"]]])
def test_landmarks_that_are_no_points_are_refused(files, refused, forged):
    """What is read could be written again: a number of points, a table of them, or nothing."""
    name = next(name for name in NAMES if "landmarks" in taken_apart(files[name])[0]["parameters"])
    document, numbers = taken_apart(files[name])
    parameters = {**document["parameters"], "landmarks": forged}
    assert "landmarks: should be a number of points" in refused(seal({**document, "parameters": parameters}, numbers))


def _lists(plain, *path):
    """Yield where lists are in a document, those within the first of a list's parts too."""
    if isinstance(plain, list):
        yield path
    parts = plain.items() if isinstance(plain, dict) else enumerate(plain[:1]) if isinstance(plain, list) else ()
    for key, part in parts:
        yield from _lists(part, *path, key)


@pytest.mark.parametrize("name", NAMES)
def test_no_list_of_a_model_may_be_empty_or_too_short(name, files, tmp_path):
    """With any list of a file emptied, or without its last part, a model is refused, or predicts as many as before."""
    document, numbers = taken_apart(files[name])
    path, X = tmp_path / "short.tacit", fitted_model(name)[1]
    for place in _lists({"fitted": document["fitted"], "parameters": document["parameters"]}):
        for end in (0, -1):
            changed = copy.deepcopy(document)
            holder = changed
            for key in place[:-1]:
                holder = holder[key]
            holder[place[-1]] = holder[place[-1]][:end]
            path.write_bytes(seal(changed, numbers))
            try:
                model = tacit.load(path)
            except ModelFileError:
                continue
            way = model.predict if hasattr(model, "predict") else model.transform
            assert len(way(X)) == (X.shape[0] if hasattr(X, "shape") else 50), place
            if hasattr(model, "rules"):
                assert model.rules()


@pytest.mark.parametrize("name", ["tree", "tree, schema", "tree, records", "list", "naive bayes"])
def test_features_that_do_not_fit_are_refused(name, files, refused):
    """Features of a learner are those of its columns, of its schema, or one for each column of an array."""
    document, numbers = taken_apart(files[name])
    own = document["fitted"]["features_"]
    of_arrays, by_name = [own[:-1], own + own[-1:]], [[*own[:-1], _renamed(own[-1])]]
    wrong = {"tree, schema": [*of_arrays, *by_name], "tree, records": by_name}
    for features in ([], *wrong.get(name, of_arrays)):
        refused(seal({**document, "fitted": {**document["fitted"], "features_": features}}, numbers))


def test_edges_that_no_day_is_at_are_refused(files, refused):
    """Days far beyond a column's ends have no name in rules, and without edges there is no code to ask for."""
    for edges in ([], [1e300], [-1e9]):
        document, numbers = taken_apart(files["list, records"])
        moment = next(each["value"] for each in document["fitted"]["features_"] if each["value"]["name"] == "seen")
        moment["edges"] = edges
        refused(seal(document, numbers))


def _renamed(feature):
    return {**feature, "value": {**feature["value"], "name": "x"}}
