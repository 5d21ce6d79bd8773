"""The way to MLflow's store: opened once, with every reason that it does not open in one line."""

import getpass
import os
from pathlib import Path

from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from sqlalchemy import NullPool, create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from multilogger.components.errors import BadInput, first_line
from multilogger.tasks.engine.empty_databases import copy_kept, keep_copy
from multilogger.tasks.engine.locks import FileLock
from multilogger.tasks.engine.store import Store

EXTRAS = {"psycopg2": "postgres", "pymysql": "mysql", "MySQLdb": "mysql"}
"""The extra of ours that has the driver of a database."""


def open_client(store: Store) -> MlflowClient:
    """MLflow's client of the store, whose tables are made if there are none."""
    try:
        # a fresh database breaks when several open it at once
        with FileLock(store.locks / "mlflow-setup"):
            if (own := store.own_database) is not None and not own.exists():
                _make_tables(own)
            _connect_once(store.tracking_uri)
            client = MlflowClient(tracking_uri=store.tracking_uri)
            client.search_experiments(max_results=1)
    except ModuleNotFoundError as error:
        raise BadInput(_missing_driver(error.name or "", store.tracking_uri)) from error
    except (MlflowException, SQLAlchemyError) as error:
        if "disk is full" in str(error):
            raise
        reason = first_line(error)[:150]
        raise BadInput(
            f"MLflow's store at {store.tracking_uri} does not answer ({reason}); "
            "start that server, or move a damaged database file away: results stay cached without it"
        ) from error
    return client


def _connect_once(address: str) -> None:
    """MLflow itself asks a database that does not answer for 100 seconds, with a warning each time."""
    try:
        engine = create_engine(address, poolclass=NullPool)
    except SQLAlchemyError:  # no address of a database; MLflow says more
        return
    if engine.dialect.name != "sqlite":  # a file that is not there is made
        engine.connect().close()


def _make_tables(database: Path) -> None:
    """Under another name: a migration that is cut off leaves a file that MLflow refuses."""
    draft = database.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    if copy_kept("mlflow", database):
        return
    MlflowClient(tracking_uri=f"sqlite:///{draft}").search_experiments(max_results=1)
    keep_copy("mlflow", draft)
    draft.rename(database)


def check_driver(address: str) -> None:
    """Refuse the address of a database whose driver is not installed."""
    try:
        make_url(address).get_dialect().import_dbapi()
    except ModuleNotFoundError as error:
        raise BadInput(_missing_driver(error.name or "", address)) from error
    except SQLAlchemyError:  # no address of a database; who opens it says more
        return


def _missing_driver(module: str, address: str) -> str:
    extra = EXTRAS.get(module)
    remedy = f"pip install 'multilogger[{extra}]'" if extra else f"install the package that has {module}"
    return f"MLflow's store at {address} needs the Python module {module}, which is missing: {remedy}"


def user_name() -> str:
    """Who runs this; in a container the number of a user may have no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
