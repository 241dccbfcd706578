"""SHOW GRANTS is read whole, whatever the names in it are; a lost connection is told from a wrong statement."""

from __future__ import annotations

import pymysql
import pytest

from workers.sources.drivers.mysql import _beyond_reading, _errors, _roles
from workers.sources.errors import SourceAway


@pytest.mark.parametrize(
    ("grant", "roles"),
    [
        ("GRANT `reader` TO `ana`@`%`", ["`reader`"]),
        ("GRANT reader TO 'ana'@'%'", ["reader"]),
        ("GRANT `may write` TO `ana`@`%` WITH ADMIN OPTION", ["`may write`"]),
        ("GRANT `one`@`%`,`the other`@`%` TO `ana`@`%`", ["`one`@`%`", "`the other`@`%`"]),
        ("GRANT SELECT, INSERT ON `shop`.* TO `ana`@`%`", []),
        ("GRANT USAGE ON *.* TO `ana`@`%`", []),
        ("SET DEFAULT ROLE `reader` FOR `ana`@`%`", []),
    ],
)
def test_every_role_of_a_login_is_looked_at(grant: str, roles: list[str]) -> None:
    assert _roles(grant) == roles


@pytest.mark.parametrize(
    ("grant", "said"),
    [
        ("GRANT SELECT, SHOW VIEW ON `the shop`.* TO `ana`@`%`", ""),
        ("GRANT SELECT (`id`, `name`) ON `shop`.`orders` TO `ana`@`%`", ""),
        ("GRANT ALL PRIVILEGES ON `the shop`.* TO `ana`@`%`", "it has ALL PRIVILEGES on the shop.*"),
        ("GRANT EXECUTE ON PROCEDURE `shop`.`tidy` TO `ana`@`%`", "it has EXECUTE on PROCEDURE shop.tidy"),
        ("GRANT SELECT ON `shop`.* TO `ana`@`%` WITH GRANT OPTION", "it has GRANT OPTION on shop.*"),
        ("GRANT USAGE ON *.* TO `ana`@`%` IDENTIFIED BY PASSWORD '*AB'", ""),
    ],
)
def test_a_right_beyond_reading_is_found(grant: str, said: str) -> None:
    assert _beyond_reading(grant) == said


@pytest.mark.parametrize("number", [2006, 2013, 1927, 1053, 4031])
def test_a_connection_that_the_server_has_ended_is_lost_so_that_it_is_replaced(number: int) -> None:
    with pytest.raises(SourceAway), _errors(None, 1.0):
        raise pymysql.OperationalError(number, "The client was disconnected by the server because of inactivity.")
