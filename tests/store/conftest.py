import pytest
from tests.store.rows import add_project

from loreline.store import projects
from loreline.store.connection import open_database


@pytest.fixture
def path(tmp_path):
    return tmp_path / "mirror.db"


@pytest.fixture
def db(path):
    """A fresh database; whatever a test did to it, its constraints hold in the end."""
    db = open_database(path, create=True)
    yield db
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


@pytest.fixture
def instance(db):
    return projects.instance_id(db, "https://gitlab.example.com")


@pytest.fixture
def project(db, instance):
    return add_project(db, instance)
