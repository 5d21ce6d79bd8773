"""The shortest way from a frame to a served policy, as the page on own logs has it, runs as it stands."""

import json
from pathlib import Path

import mlflow
import numpy as np
import pytest
from mlflow.pyfunc.scoring_server import infer_and_parse_data

import multilogger as ml
from tests.tasks.own_log.shop import shop_frame
from tests.test_readme_python import ROOT, python_blocks

PAGE = ROOT / "docs" / "pages" / "how-to" / "own-logs.md"
FEATURES = ["user_age", "user_country", "user_member", "at"]


@pytest.mark.filterwarnings("ignore::UserWarning")  # that some propensities are estimates
def test_ten_lines_lead_from_a_frame_to_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words for actions, three loggers of which one logged no propensity, features of all kinds."""
    frame = shop_frame(450)
    frame.loc[frame["policy"] == "old", "pscore"] = np.nan
    frame.to_parquet(tmp_path / "shop.parquet")
    monkeypatch.chdir(tmp_path)
    block = next(one for one in python_blocks(PAGE) if "save_mlflow_model" in one)
    assert len([line for line in block.splitlines() if line]) < 10
    names: dict[str, object] = {}
    exec(compile(block, PAGE.name, "exec"), names)
    model = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    records = json.loads(frame[FEATURES].head(5).to_json(orient="records", date_format="iso"))
    request = infer_and_parse_data({"dataframe_records": records}, model.metadata.get_input_schema())
    decided = model.predict(request, params={"decide": True})
    assert set(decided["action"]) <= {"jam", "pie", "tea"}
    np.testing.assert_allclose(np.exp(decided["log_propensity"]), decided["propensity"])
    shown = frame[FEATURES].head(5).join(decided.reset_index(drop=True)).assign(click=[0, 1, 0, 0, 1])
    policy = names["policy"]
    assert isinstance(policy, ml.Policy)
    again = ml.BanditLog.from_pandas(
        shown.assign(policy="served"), reward="click", logger="policy", features=policy.columns,
        actions=policy.actions,
    )  # fmt: skip
    assert len(again) == decided["sample_id"].nunique() == 5
