"""Pages of the site show the files of the root folder, with links that lead to pages of the site."""

import re

import pytest

import links
import root_page

ABOUT = links.ROOT / "docs" / "about"
FILES = ("CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md")


def _shown(name: str) -> str:
    page = (ABOUT / root_page.SITE_PAGES[name]).read_text(encoding="utf-8")
    return "\n".join(root_page.with_root_pages(page.split("\n")))


@pytest.mark.parametrize("name", FILES)
def test_a_page_shows_the_file_below_its_own_title(name: str) -> None:
    shown = _shown(name)
    own_title, *rest = (links.ROOT / name).read_text(encoding="utf-8").split("\n")
    assert shown.count(f"\n{own_title}\n") == 0
    assert len(re.findall(r"^# ", re.sub(r"^```.*?^```", "", shown, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)) == 1
    assert [line for line in rest if line.startswith("## ")] == [line for line in shown.split("\n") if line.startswith("## ")]


@pytest.mark.parametrize("name", FILES)
def test_each_link_of_a_shown_file_leads_to_a_page_of_the_site(name: str) -> None:
    shown = _shown(name)
    for path, anchor in re.findall(r"\]\(([^)#\s:]*)#?([^)\s:]*)\)", shown):
        page = (ABOUT / path).resolve() if path else ABOUT / root_page.SITE_PAGES[name]
        assert page.is_relative_to(links.ROOT / "docs"), path
        assert page.is_file(), path
        assert not anchor or anchor in links.anchors(page.read_text(encoding="utf-8") if path else shown), f"{path}#{anchor}"
