# SPDX-License-Identifier: MIT
"""A stand-in for keras 3: the methods of its callbacks, called with the same arguments and in the same
order by a model that trains nothing."""

import types

METHODS = {
    "on_train_begin": "", "on_train_end": "", "on_test_begin": "", "on_test_end": "",
    "on_predict_begin": "", "on_predict_end": "", "on_epoch_begin": "epoch", "on_epoch_end": "epoch",
    "on_train_batch_begin": "batch", "on_train_batch_end": "batch", "on_test_batch_begin": "batch",
    "on_test_batch_end": "batch", "on_predict_batch_begin": "batch", "on_predict_batch_end": "batch",
}


def _method(name, word):
    scope = {}
    exec(f"def {name}({', '.join(filter(None, ['self', word, 'logs=None']))}): pass", scope)
    return scope[name]


class Callback:
    """Every method does nothing."""

    def __init__(self):
        self.params = self._model = None

    def set_params(self, params):
        self.params = params

    def set_model(self, model):
        self._model = model


for _name, _word in METHODS.items():
    setattr(Callback, _name, _method(_name, _word))
callbacks = types.SimpleNamespace(Callback=Callback)


class Model:
    def __init__(self, work):
        self.work = work

    def call(self, method, *arguments, **logs):
        for callback in self.callbacks:
            getattr(callback, method)(*arguments, logs) if logs else getattr(callback, method)(*arguments)

    def begin(self, callbacks, **params):
        self.callbacks = callbacks
        for callback in callbacks:
            callback.set_params(params)
            callback.set_model(self)

    def evaluate(self, callbacks=None):
        if callbacks is not None:
            self.begin(callbacks)
        self.call("on_test_begin")
        for i in range(2):
            self.call("on_test_batch_begin", i)
            self.work()
            self.call("on_test_batch_end", i, loss=0.25)
        self.call("on_test_end", loss=0.25)

    def fit(self, callbacks, epochs=2):
        self.begin(callbacks, epochs=epochs)
        self.call("on_train_begin")
        for epoch in range(epochs):
            self.call("on_epoch_begin", epoch)
            for i in range(3):
                self.call("on_train_batch_begin", i)
                self.work()
                self.call("on_train_batch_end", i, loss=0.5)
            self.evaluate()
            self.call("on_epoch_end", epoch, loss=0.5, val_loss=0.25)
        self.call("on_train_end", loss=0.5, val_loss=0.25)

    def predict(self, callbacks):
        self.begin(callbacks)
        self.call("on_predict_begin")
        self.work()
        self.call("on_predict_end")
