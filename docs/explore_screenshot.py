"""Make docs/images/explore.png and explore_cells.png: the page of tl1pca explore, photographed in chromium.

python docs/explore_screenshot.py
"""

import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_wine

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from explore_server import Explorer  # noqa: E402

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def slips(path):
    """The wine data with slips of the pen, and a row in the wrong order."""
    frame = load_wine(as_frame=True).data.copy()
    frame.loc[10, "alcohol"], frame.loc[50, "ash"], frame.loc[120, "hue"] = 142.3, 24.3, 10.4
    frame.iloc[150] = frame.iloc[150].to_numpy()[::-1]
    frame.insert(0, "wine", [f"wine {i + 1}" for i in range(len(frame))])
    frame.to_csv(path, index=False)


def save(page, name):
    path = HERE / "images" / name
    page.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(256, Image.Quantize.FASTOCTREE).save(path, optimize=True)


def main():
    program = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        slips(Path(folder) / "wine.csv")
        server = Explorer(Path(folder) / "wine.csv")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_page(viewport={"width": 1500, "height": 980})
        page.goto(server.address)
        page.wait_for_selector("html[data-fit]")
        page.get_by_role("button", name="excess", exact=True).click()
        page.get_by_role("button", name="Row 151", exact=False).first.click()
        page.locator("#row-aside").click()
        page.wait_for_timeout(3000)  # the fit that follows
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Row 11,", exact=False).first.click()
        page.wait_for_timeout(800)
        page.evaluate("window.scrollTo(0, 0)")
        page.wait_for_timeout(300)
        save(page, "explore.png")
        page.keyboard.press("Escape")
        page.locator("#theme").click()
        page.locator("#tab-cells").click()
        page.evaluate("document.getElementById('tabs').scrollIntoView({behavior: 'instant'})")
        page.wait_for_timeout(500)
        save(page, "explore_cells.png")
        browser.close()
        server.stop()


if __name__ == "__main__":
    main()
