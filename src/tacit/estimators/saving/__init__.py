"""What of a fitted estimator goes into a model file: every estimator declares it, one line for each attribute.

    class PrivateLogisticRegression(...):
        saved: ClassVar = Saved(fitted={"coef_": Numbers("scores", "features"), "margin_": Scalar(0, 100), ...})

A `Field` writes a value as plain JSON and arrays, and reads it back from what a stranger may have written: it builds
nothing but what it was declared for. A new fitted attribute is one more line; without one saving a model refuses.
"""
