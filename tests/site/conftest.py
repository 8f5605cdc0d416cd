"""Pages of this folder are looked at in a browser."""

from support.browser_fixtures import browser, page_of, reports

__all__ = ["browser", "page_of", "reports"]
