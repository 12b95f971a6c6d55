"""scikit-learn's checks of sample weights that a private fit cannot pass, and why."""

from typing import Any

__all__ = ["expected_failures"]

_EQUIVALENCE = (
    "a row of weight 2 is not two rows: sums are divided by the public number of records, never by the weights' sum, "
    "which would let every row's part depend on all other weights"
)
_EVERYWHERE = {
    "check_sample_weight_equivalence_on_dense_data": _EQUIVALENCE,
    "check_sample_weight_equivalence_on_sparse_data": _EQUIVALENCE,
    "check_all_zero_sample_weights_error": "values of records refuse no fit: an error would tell that all are zero",
}
_UNWEIGHED = (
    "check_sample_weights_pandas_series", "check_sample_weights_not_an_array", "check_sample_weights_list",
    "check_sample_weights_shape", "check_sample_weights_not_overwritten", "check_classifiers_one_label_sample_weights",
    "check_class_weight_classifiers",
)  # fmt: skip


def expected_failures(estimator: Any) -> dict[str, str]:
    """Return the checks that fail by design for an estimator, with the reasons."""
    unweighed = (
        getattr(estimator, "method", "") in ("matched", "tddl", "tdil") or getattr(estimator, "loss", "") == "hinge"
    )
    why = "nothing is proved for weights here, and they are refused"
    return _EVERYWHERE | (dict.fromkeys(_UNWEIGHED, why) if unweighed else {})
