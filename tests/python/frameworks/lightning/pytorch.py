# SPDX-License-Identifier: MIT
"""A stand-in for lightning.pytorch 2: its hooks of callbacks, called with the same arguments and in the
same order by loops that train nothing."""

HOOKS = {
    "setup": "stage", "teardown": "stage",
    "on_fit_start": "", "on_fit_end": "", "on_sanity_check_start": "", "on_sanity_check_end": "",
    "on_train_start": "", "on_train_end": "", "on_train_epoch_start": "", "on_train_epoch_end": "",
    "on_train_batch_start": "batch batch_idx", "on_train_batch_end": "outputs batch batch_idx",
    "on_validation_start": "", "on_validation_end": "",
    "on_validation_epoch_start": "", "on_validation_epoch_end": "",
    "on_test_start": "", "on_test_end": "", "on_test_epoch_start": "", "on_test_epoch_end": "",
    "on_predict_start": "", "on_predict_end": "", "on_predict_epoch_start": "", "on_predict_epoch_end": "",
    "on_save_checkpoint": "checkpoint", "on_exception": "exception",
}


def _hook(name, words):
    scope = {}
    exec(f"def {name}({', '.join(['self', 'trainer', 'pl_module', *words.split()])}): pass", scope)
    return scope[name]


class Callback:
    """Every hook does nothing."""


for _name, _words in HOOKS.items():
    setattr(Callback, _name, _hook(_name, _words))


class Trainer:
    def __init__(self, callbacks, max_epochs=2):
        self.callbacks, self.max_epochs = callbacks, max_epochs
        self.sanity_checking, self.global_step, self.callback_metrics = False, 0, {}

    def call(self, hook, *arguments):
        for callback in self.callbacks:
            getattr(callback, hook)(self, self.model, *arguments)

    def validate_loop(self):
        self.call("on_validation_start")
        self.call("on_validation_epoch_start")
        self.model.work()
        self.callback_metrics["val_loss"] = 0.25
        self.call("on_validation_epoch_end")
        self.call("on_validation_end")

    def fit(self, model):
        self.model = model
        try:
            self.fit_loop()
        except BaseException as error:
            self.call("on_exception", error)
            self.call("teardown", "fit")
            raise

    def fit_loop(self):
        self.call("setup", "fit")
        self.call("on_fit_start")
        self.sanity_checking = True
        self.call("on_sanity_check_start")
        self.validate_loop()
        self.call("on_sanity_check_end")
        self.sanity_checking = False
        self.callback_metrics = {}
        self.call("on_train_start")
        for _ in range(self.max_epochs):
            self.call("on_train_epoch_start")
            for i in range(3):
                self.call("on_train_batch_start", [i], i)
                self.model.work()
                self.global_step += 1
                self.call("on_train_batch_end", {"loss": 0.5}, [i], i)
            self.validate_loop()
            self.callback_metrics.update(train_loss=0.5, confusion=[[1, 2], [3, 4]])
            self.call("on_save_checkpoint", {})
            self.call("on_train_epoch_end")
        self.call("on_train_end")
        self.call("on_fit_end")
        self.call("teardown", "fit")

    def test(self, model):
        self.model = model
        self.call("on_test_start")
        self.model.work()
        self.callback_metrics = {"test_acc": 0.75}
        self.call("on_test_end")

    def predict(self, model):
        self.model = model
        self.call("on_predict_start")
        self.model.work()
        self.call("on_predict_end")
