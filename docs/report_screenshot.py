"""Make docs/images/report.png: the report of the documentation page, photographed in chromium.

python docs/report_screenshot.py
"""

import re
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def main():
    code = re.search(r"```python\n(.*?)```", (HERE / "report.md").read_text(), flags=re.S).group(1)
    program = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "wine.html"
        exec(code.replace('"wine.html"', repr(str(path))), {})
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        page.locator("#table tbody tr").first.click()
        page.evaluate("document.getElementById('map').scrollIntoView({behavior: 'instant'})")
        page.wait_for_timeout(500)  # the figures have become narrower
        page.screenshot(path=HERE / "images" / "report.png")
        browser.close()


if __name__ == "__main__":
    main()
