"""A page in a real browser, with all it requested and complained about."""

import time


class Visit:
    """A page that was opened, with all it requested and complained about."""

    def __init__(self, browser, path, width=1280):
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.complaints, self.requests, self.dialogs = [], [], []
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        begin = time.monotonic()
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready=yes]", timeout=120_000)
        self.seconds = time.monotonic() - begin

    def check(self):
        assert self.complaints == []
        assert self.dialogs == []
        assert [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))] == []

    def column(self, title):
        """The cells of the table under a heading."""
        heads = self.page.locator("#table thead button").all_inner_texts()
        return self.page.locator(f"#table tbody td:nth-child({heads.index(title) + 1})").all_inner_texts()

    def sort(self, title):
        self.page.locator("#table thead button", has_text=title).first.click()

    def hover(self, figure, flag):
        """Text of the hover label of the first row of a kind."""
        place = self.page.evaluate(
            """([figure, name]) => {
                const plot = document.getElementById(figure);
                plot.scrollIntoView({block: "center", behavior: "instant"});
                const trace = plot._fullData.find((trace) => trace.name === name);
                const box = plot.getBoundingClientRect(), {xaxis, yaxis} = plot._fullLayout;
                return [box.left + xaxis._offset + xaxis.d2p(trace.x[0]),
                        box.top + yaxis._offset + yaxis.d2p(trace.y[0])];
            }""",
            [figure, flag],
        )
        self.page.mouse.move(place[0] - 3, place[1])
        self.page.mouse.move(*place)
        label = self.page.locator(f"#{figure} .hoverlayer .hovertext")
        label.wait_for()
        return label.text_content()
