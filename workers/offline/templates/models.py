"""The cells that predict a column from the others."""

# ruff: noqa: PLR0912, PLR0915 - a cell is read from top to bottom, so a template is one function
from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from workers.offline.cell_functions import bands, bars, fill, short, tell, written


def predict(
    work: Any, *, number: str | None, numbers: list[str], categories: list[str], unit: str,
    measure_name: str, axis_format: str, band: str, words: dict[str, str],
) -> None:  # fmt: skip
    """A model of a number or of a yes-no column (`number` is None), judged on rows that it has not seen.

    It is set against the simplest guess, and the columns that it relies on are named.
    """
    if number:
        work = work[work[number].notna()]
    work = work.sample(min(len(work), 20000), random_state=0)
    texts = work[categories].astype(object).where(work[categories].notna(), words["blank"]).astype(str)
    X = pd.concat([work[numbers].astype(float), texts], axis=1)
    X = X.loc[:, X.nunique() > 1]
    y = work[number].astype(float) if number else work["is_target"]
    fewest = y.nunique() if number else int(min(y.sum(), len(y) - y.sum()))

    # A column that alone nearly gives the answer away is usually the same thing, or written after the fact.
    leaking = []
    for column in X.columns if number or fewest >= 30 else []:
        if number:
            told = column in numbers and abs(X[column].corr(y, method="spearman")) > 0.995
        else:
            guesses = [X[column].map(y.groupby(X[column]).mean())]
            if column in numbers:
                guesses = [X[column].fillna(X[column].median()), X[column].isna().astype(int)]
            told = max(abs(roc_auc_score(y, guess) - 0.5) for guess in guesses) > 0.47
        leaking += [column] if told else []
    X = X.drop(columns=leaking)
    numeric, categorical = [c for c in numbers if c in X], [c for c in categories if c in X]
    possible = bool(X.shape[1] > 0 and (len(X) >= 80 and fewest > 5 if number else fewest >= 30))
    cases = {} if number else {"positive": y.sum(), "rate": y.mean()}
    tell("modelled", digits=6, rows=len(X), columns=X.shape[1], leaking=leaking, **cases)
    tell("gaps", columns={name: int(count) for name, count in X[numeric].isna().sum().nlargest(6).items() if count})
    print(fill("row_count", words, rows=len(X)))

    if possible:
        halves = train_test_split(X, y, test_size=0.25, stratify=None if number else y, random_state=0)
        X_train, X_test, y_train, y_test = halves
        filled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        one_hot = OneHotEncoder(handle_unknown="ignore", min_frequency=10)
        scaled = ColumnTransformer([("numbers", filled, numeric), ("categories", one_hot, categorical)])
        ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        plain = ColumnTransformer([("numbers", "passthrough", numeric), ("categories", ordinal, categorical)])
        if number:
            boosting = HistGradientBoostingRegressor(
                loss="absolute_error", max_iter=120, learning_rate=0.08, max_leaf_nodes=15, random_state=0
            )
            linear = {"ridge regression": make_pipeline(scaled, Ridge())}
            folds, scoring, said = KFold(5, shuffle=True, random_state=0), "neg_mean_absolute_error", "mae"
        else:
            boosting = HistGradientBoostingClassifier(
                max_iter=80, learning_rate=0.08, max_leaf_nodes=15, random_state=0
            )
            linear = {"logistic regression": make_pipeline(scaled, LogisticRegression(max_iter=2000))}
            folds, scoring, said = StratifiedKFold(5, shuffle=True, random_state=0), "roc_auc", "auc"
        models = {**linear, "gradient boosting": make_pipeline(plain, boosting)}
        scores = {name: cross_val_score(m, X_train, y_train, cv=folds, scoring=scoring) for name, m in models.items()}
        for name, score in scores.items():
            tell("candidate", model=name, spread=score.std(), **{said: abs(score.mean())})
        best = max(scores, key=lambda name: scores[name].mean())
        model = models[best].fit(X_train, y_train)
        if number:
            predicted = model.predict(X_test)
            mae, baseline = mean_absolute_error(y_test, predicted), (y_test - y_train.median()).abs().mean()
            tell("model", model=best, train=len(X_train), test=len(X_test), mae=mae, baseline_mae=baseline,
                 r2=r2_score(y_test, predicted))  # fmt: skip
        else:
            risk = pd.Series(model.predict_proba(X_test)[:, 1], index=X_test.index)
            ranked = y_test.loc[risk.sort_values(ascending=False).index]
            riskiest = ranked.head(max(1, len(ranked) // 10))
            tell("model", model=best, train=len(X_train), test=len(X_test), auc=roc_auc_score(y_test, risk),
                 accuracy=accuracy_score(y_test, risk > 0.5), baseline_accuracy=max(y_test.mean(), 1 - y_test.mean()),
                 top_tenth_rate=riskiest.mean(), top_tenth_share=riskiest.sum() / y_test.sum(),
                 test_rate=y_test.mean())  # fmt: skip

        importance = permutation_importance(model, X_test, y_test, scoring=scoring, n_repeats=5, random_state=0)
        table = pd.Series(importance.importances_mean, index=X.columns).sort_values(ascending=False)
        for column, weight in table.head(6).items():
            sides = {}
            if not number:
                parts = bands(X[column], 4, band, words["marks"]) if column in numeric else X[column]
                rates = y.groupby(parts, observed=True).agg(["mean", "size"])
                rates = rates[rates["size"] >= 20].sort_values("mean")
                if len(rates) < 2:
                    continue
                sides = {"high": str(rates.index[-1])[:40], "high_rate": rates["mean"].iloc[-1],
                         "low": str(rates.index[0])[:40], "low_rate": rates["mean"].iloc[0]}  # fmt: skip
            tell("driver", column=column, importance=weight, **sides)

        top = table[table > 0].head(10)
        if len(top):
            loss = words["error_rise"] + unit if number else words["auc_loss"]
            ticks = written(axis_format if number else "{:.4g}", words)
            bars(short(top.index.str.replace("_", " ")), top, words["relies_on"], loss, "", ticks, ticks)

        if number:
            _, ax = plt.subplots(figsize=(7, 5.5))
            ax.scatter(y_test, predicted, s=14, alpha=0.4, color="#2563eb", edgecolors="none")
            ends = [min(y_test.min(), predicted.min()), max(y_test.max(), predicted.max())]
            ax.plot(ends, ends, color="#6b7280", linestyle="--", linewidth=1.2, label=words["perfect"])
            ax.set(title=words["predicted_actual"], xlabel=words["actual"], ylabel=words["predicted"])
            ax.xaxis.set_major_formatter(written(axis_format, words))
            ax.yaxis.set_major_formatter(written(axis_format, words))
            ax.legend()
        elif len(ranked) >= 50:
            tenths = ranked.groupby(np.arange(len(ranked)) * 10 // len(ranked) + 1).mean()
            _, ax = plt.subplots()
            drawn = ax.bar(tenths.index, tenths, color=["#2563eb"] + ["#93c5fd"] * (len(tenths) - 1), width=0.7)
            ax.bar_label(drawn, fmt="{:.0%}", padding=3, fontsize=9)
            overall = fill("all", words, share=written("{:.1%}", words)(y_test.mean()))
            ax.axhline(y_test.mean(), color="#6b7280", linestyle="--", linewidth=1.2, label=overall)
            ax.set(title=words["by_risk"], xlabel=words["tenths"], ylabel=measure_name)
            ax.set_xticks(tenths.index)
            ax.yaxis.set_major_formatter("{x:.0%}")
            ax.grid(axis="x", visible=False)
            ax.legend()
