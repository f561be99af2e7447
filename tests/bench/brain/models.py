# SPDX-License-Identifier: MIT
"""The peers' cost models, and ours through the tune command. Each is f(params, time_ms, test_params) -> lower = faster."""
import subprocess
import tempfile
from pathlib import Path

import numpy as np

ROUNDS = 300


def features(params, log2):
    """The knobs, and log2 of those named by the mask."""
    return np.hstack([params, np.log2(params[:, log2])]) if log2.any() else params


def always_positive(*tables):
    return np.all([table.min(axis=0) > 0 for table in tables], axis=0)


def log_times(time_ms):
    """ln of times; a failure counts as the slowest one seen."""
    y = np.log(time_ms)
    return np.where(np.isnan(y), np.nanmax(y), y)


def xgb_tuned(params, time_ms, test):
    """Squared error on log time, 300 trees of depth 6, the best of a search over XGBoost's settings."""
    import xgboost
    log2 = always_positive(params, test)
    settings = dict(objective="reg:squarederror", max_depth=6, eta=0.05, subsample=0.8, colsample_bytree=0.8, tree_method="hist",
                    nthread=1, seed=0)
    data = xgboost.DMatrix(features(params, log2), log_times(time_ms), nthread=1)
    model = xgboost.train(settings, data, num_boost_round=ROUNDS)
    return model.predict(xgboost.DMatrix(features(test, log2), nthread=1))


def lgb_tuned(params, time_ms, test):
    import lightgbm
    log2 = always_positive(params, test)
    settings = dict(objective="regression", learning_rate=0.05, num_leaves=31, min_data_in_leaf=3, bagging_fraction=0.8, bagging_freq=1,
                    feature_fraction=0.8, min_data_in_bin=1, num_threads=1, seed=0, verbose=-1)
    data = lightgbm.Dataset(features(params, log2), log_times(time_ms), params=dict(verbose=-1, min_data_in_bin=1))
    return lightgbm.train(settings, data, num_boost_round=ROUNDS).predict(features(test, log2), num_threads=1)


def average_recall(predicted, target, top=64):
    """Mean over k < top of recall@k, the measure AutoTVM stops training by (higher target and prediction = better)."""
    rank = np.empty(len(target), int)
    rank[np.argsort(-target, kind="stable")] = np.arange(1, len(target) + 1)
    ranked = rank[np.argsort(-predicted, kind="stable")][:top]
    return sum(np.sum(ranked[:k] <= k) / (k + 1) for k in range(min(top, len(target)))) / top


def atvm_reg(params, time_ms, test):
    """AutoTVM 0.9's regression: depth 3, eta .3, best/time with 0 for a failure, stopped by recall on the training rows."""
    import xgboost
    log2 = always_positive(params, test)
    target = np.nan_to_num(np.nanmin(time_ms) / time_ms)
    settings = dict(objective="reg:squarederror", max_depth=3, eta=0.3, gamma=1e-4, min_child_weight=1, reg_lambda=1, tree_method="hist",
                    nthread=1, seed=0, disable_default_eval_metric=1)
    data = xgboost.DMatrix(features(params, log2), target, nthread=1)
    stop = xgboost.callback.EarlyStopping(rounds=20, metric_name="recall", data_name="train", maximize=True, save_best=True)
    model = xgboost.train(settings, data, num_boost_round=8000, evals=[(data, "train")], callbacks=[stop], verbose_eval=False,
                          custom_metric=lambda predicted, _: ("recall", average_recall(predicted, target)))
    return -model.predict(xgboost.DMatrix(features(test, log2), nthread=1))


PEERS = {"xgb_tuned": xgb_tuned, "lgb_tuned": lgb_tuned, "atvm_reg": atvm_reg}


class Ours:
    """Trains and predicts with the tune command through files, as a user would."""

    def __init__(self, tune, train_args=()):
        self.tune, self.train_args = tune, list(train_args)

    def __call__(self, data, train, test, source=None):
        """data: a Set; train and test: its rows; source: a CSV of another device's records or None. Returns predictions."""
        with tempfile.TemporaryDirectory() as place:
            names = {name: str(Path(place, name)) for name in ("train.csv", "test.csv", "model.json", "predicted.txt")}
            data.write(names["train.csv"], train)
            data.write(names["test.csv"], test)
            extra = self.train_args + (["--source", str(source)] if source else [])
            self.run("train", "--in", names["train.csv"], "--out", names["model.json"], *extra)
            self.run("predict", "--model", names["model.json"], "--in", names["test.csv"], "--out", names["predicted.txt"])
            return np.loadtxt(names["predicted.txt"], ndmin=1)

    def run(self, *words):
        done = subprocess.run([self.tune, "model", *words], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"tune model {' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}")
