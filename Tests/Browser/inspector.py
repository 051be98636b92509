#!/usr/bin/env python3
"""Tests the page of NessInspector in a browser, with the traffic of `ness-demo inspect`.

    swift build --product ness-demo && python3 Tests/Browser/inspector.py

Needs the Python package selenium, chromium and chromedriver. NESS_DEMO names another program.
The screenshots are written to the folder NESS_SCREENSHOTS, if it is set.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.common.exceptions import ElementClickInterceptedException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

PROGRAM = os.environ.get("NESS_DEMO") or pathlib.Path(__file__).parents[2] / ".build/debug/ness-demo"
SCREENSHOTS = os.environ.get("NESS_SCREENSHOTS")

# Runs in each page before the page's own script.
WATCH = """
    window.alerts = [];
    window.alert = (text) => window.alerts.push(text);
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""

# Returns what a user reads in each row. One call reads all rows, so that none can change in between.
READ_ROWS = """
    return [...document.querySelectorAll(".row")].map((row) => ({
      ...Object.fromEntries([...row.querySelectorAll("[data-column]")].map((cell) => [cell.dataset.column, cell.textContent])),
      path: row.querySelector("[data-column=path]").firstChild.textContent,
      id: Number(row.dataset.key.split("/")[0]), isNested: row.hasAttribute("data-of"),
      bars: [...row.querySelectorAll(".bar")].map((bar) => bar.dataset.kind),
    }));
"""


# The members that HAR 1.2 requires, with their types.
HAR = {
    "startedDateTime": str, "time": (int, float), "cache": dict,
    "timings": {"send": (int, float), "wait": (int, float), "receive": (int, float)},
    "request": {
        "method": str, "url": str, "httpVersion": str, "cookies": list, "headers": list, "queryString": list, "headersSize": int,
        "bodySize": int,
    },
    "response": {
        "status": int, "statusText": str, "httpVersion": str, "cookies": list, "headers": list, "redirectURL": str, "headersSize": int,
        "bodySize": int, "content": {"size": int, "mimeType": str},
    },
}


def missing(required, value):
    """Returns the required members that a JSON object does not have, or that have another type."""
    if not isinstance(required, dict):
        return [] if isinstance(value, required) else [repr(value)]
    return [name for name, type in required.items() if name not in value or missing(type, value[name])]


def start_program():
    """Starts the program. Returns it with the address that it prints."""
    program = subprocess.Popen([PROGRAM, "inspect"], stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(20, program.kill)
    watchdog.start()
    for line in program.stdout:
        if address := re.search(r"http://\S+", line):
            watchdog.cancel()
            return program, address.group()
    raise RuntimeError(f"{PROGRAM} printed no address.")


def start_browser(downloads):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
    # The sandbox does not work for root, and /dev/shm is small in a container.
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,800"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False})
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": downloads})
    browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    return browser


class InspectorPageTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.downloads = pathlib.Path(folder.name)
        cls.program, cls.url = start_program()
        cls.addClassCleanup(cls.stop_program)
        cls.browser = start_browser(folder.name)
        cls.addClassCleanup(cls.browser.quit)

    @classmethod
    def stop_program(cls):
        cls.program.send_signal(signal.SIGINT)
        try:
            cls.program.wait(timeout=5)
        except subprocess.TimeoutExpired:
            cls.program.kill()
        cls.program.stdout.close()

    def setUp(self):
        self.browser.get(self.url)
        self.until(lambda: self.text(".connection") == "live", "the page is live")

    def tearDown(self):
        self.assertEqual(self.script("return window.alerts"), [], "A script of a server ran.")
        self.assertEqual(self.script("return window.violations"), [], "The page violated its Content-Security-Policy.")
        self.assertEqual([entry["message"] for entry in self.browser.get_log("browser")], [], "The browser's console has messages.")

    def until(self, condition, what, seconds=15):
        """Waits for a condition, and returns its value."""
        ignored = [StaleElementReferenceException, ElementClickInterceptedException]
        waiting = WebDriverWait(self.browser, seconds, poll_frequency=0.05, ignored_exceptions=ignored)
        return waiting.until(lambda _: condition(), f"Waited in vain until {what}.")

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def find(self, css):
        return self.browser.find_element(By.CSS_SELECTOR, css)

    def text(self, css):
        return self.find(css).text

    def rows(self, **columns):
        """Returns the rows that have the given values. Of a long list, only the part in view is read."""
        return [row for row in self.script(READ_ROWS) if all(row[name] == value for name, value in columns.items())]

    def row(self, **columns):
        """Waits for a row, and returns the newest one."""
        return self.until(lambda: self.rows(**columns), f"there is a row with {columns}")[-1]

    def count(self):
        """Returns the number of rows in the whole list, without those in view only."""
        return int(self.find(".list").get_attribute("aria-rowcount")) - 1

    def search(self, words):
        self.find("[data-field=search]").send_keys(Keys.CONTROL, "a", Keys.NULL, words)
        self.until(lambda: all(words in row["path"] for row in self.rows(isNested=False)), f"the list shows only {words}")

    def choose(self, name):
        self.find(f"[data-field=filter] option[value={name}]").click()

    def click(self, action):
        self.find(f'[data-action="{action}"]').click()

    def pause(self):
        """Pauses, and waits until the list shows all that arrived before."""
        self.click("pause")
        self.browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def click_in_row(self, id, css):
        def click():
            cell = self.find(f'[data-request="{id}"] {css}')
            # Chromedriver does not notice that the head of the list covers a row.
            self.script("arguments[0].scrollIntoView({block: 'center'})", cell)
            cell.click()
            return True
        self.until(click, f"the row {id} can be clicked")

    def open(self, id):
        """Opens the details of a request, and returns their text."""
        self.click_in_row(id, "[data-column=status]")
        self.until(lambda: f"#{id} " in self.text(".details h2") and self.browser.find_elements(By.CSS_SELECTOR, "[data-part=curl]"),
                   f"the details of {id} have loaded")
        return self.text(".details")

    def unfold(self, id):
        """Shows the exchanges of a request, and returns their rows."""
        self.click_in_row(id, ".disclosure")
        return self.until(lambda: self.rows(id=id, isNested=True), f"the exchanges of {id} are shown")

    def status_of(self, path, **headers):
        """Returns the status code of a request that no browser sends."""
        with contextlib.closing(http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=5)) as connection:
            connection.request("GET", path, headers=headers)
            return connection.getresponse().status

    def test_requests_appear_without_a_reload(self):
        self.script("window.isSamePage = true")
        newest = self.row(isNested=False)["id"]
        self.until(lambda: self.rows(isNested=False)[-1]["id"] > newest + 5, "newer requests appear")
        self.assertTrue(self.script("return window.isSamePage"))
        self.assertIn("exchanges", self.text(".totals"))

    def test_callers_who_share_an_exchange_are_bracketed(self):
        self.search("feed")
        flights = self.until(lambda: self.script("""
            return [...document.querySelectorAll(".bracket")].map(
                (bracket) => [...bracket.children].map((dot) => [dot.className, dot.title])).filter((dots) => dots.length === 6)
        """), "six callers are bracketed")
        self.assertEqual([name for name, _ in flights[-1]].count("is-starter"), 1)
        starter = next(int(title[1:].split()[0]) for name, title in flights[-1] if name == "is-starter")
        self.row(id=starter, source="network · started")
        self.assertEqual(len(self.rows(source=f"joined #{starter}")), 5)
        self.assertIn("6 requests caused only 1 exchange", self.open(starter))

    def test_a_response_from_the_cache_is_marked(self):
        self.search("settings")
        cached = self.row(source="cache")
        self.assertEqual(cached["status"], "200")
        self.assertIn("The response came from the cache. Nothing was sent.", self.open(cached["id"]))

    def test_a_redirect_is_nested(self):
        self.search("old")
        exchanges = self.unfold(self.row(path="/old", status="200")["id"])
        self.assertEqual([(row["path"], row["status"]) for row in exchanges], [("/old", "302"), ("/new", "200")])
        self.assertEqual([row["source"] for row in exchanges], ["first", "redirect"])

    def test_a_paused_download_nests_its_continuation(self):
        self.search("film")
        films = lambda: [row for row in self.rows(status="200") if "pause" in row["bars"]]
        film = self.until(films, "a paused film has ended")[-1]["id"]
        exchanges = self.unfold(film)
        self.assertEqual([row["path"] for row in exchanges], ["/film", "/film"])
        self.assertEqual([row["status"] for row in exchanges], ["200", "206"])
        self.assertEqual([row["source"] for row in exchanges], ["first", "range"])
        details = self.open(film)
        self.assertIn("stopped by the pause", details)
        self.assertIn("Body: 1.0 MB, saved to a file", details)

    def test_the_filter_and_the_search_narrow_the_list(self):
        self.row(path="/missing")
        self.choose("errors")
        self.until(lambda: {row["path"] for row in self.rows()} == {"/missing"}, "only failures are shown")
        self.search("feed")
        self.until(lambda: self.text(".empty") == "No request matches the filter.", "the page says why the list is empty")
        self.choose("all")
        self.until(lambda: {row["path"] for row in self.rows()} == {"/feed"}, "only feeds are shown")

    def test_a_pause_holds_back_new_rows(self):
        self.row(isNested=False)
        height = self.script("return document.querySelector('main').offsetTop")
        self.pause()
        before = self.count()
        self.until(lambda: re.search(r"paused · \d\d+ new", self.text(".connection")), "requests wait")
        self.assertEqual(self.count(), before)
        self.assertEqual(self.script("return document.querySelector('main').offsetTop"), height, "A pause moves the list.")
        self.click("pause")
        self.until(lambda: self.count() > before and self.text(".connection") == "live", "the rows that waited appear")

    def test_clear_empties_the_list(self):
        # Requests that run stay, so the test waits for the pause between two rounds.
        def newest_of_idle():
            rows = self.rows()
            return rows and not any(row["status"] in ("running", "paused") for row in rows) and rows[-1]["id"]

        newest = self.until(newest_of_idle, "no request runs")
        self.click("clear")
        self.until(lambda: not [row for row in self.rows() if row["id"] <= newest], "the old rows disappear")

    def test_the_details_say_why_a_request_was_slow(self):
        self.search("busy")
        details = self.open(self.row(status="200", tries="2")["id"])
        self.assertRegex(details, r"#\d+ took \d+\.\d\d s: .*\d\.\d\d s waiting before attempt 2 \(503, Retry-After 1\.0 s")

    def test_the_details_name_the_request_that_refreshed_the_token(self):
        self.search("photos")
        ended = lambda kind: [row for row in self.rows(status="200") if kind in row["bars"]]
        waiter = self.until(lambda: ended("refresh") and ended("refreshWait"), "a photo has waited for a refresh")[-1]["id"]
        sentence = re.search(r"waiting for the token refresh that #(\d+) started", self.open(waiter))
        self.assertIsNotNone(sentence)
        self.find(f'[data-part=why] [data-goto="{sentence[1]}"]').click()
        self.until(lambda: f"#{sentence[1]} " in self.text(".details h2"), "the link opens the other request")
        waiters = rf"refreshing the token, while .*#{waiter}\b.* waited for it"
        self.until(lambda: re.search(waiters, self.text("[data-part=why]")), f"the details name #{waiter}")
        self.assertRegex(self.text("[data-part=why]"), r"\(meanwhile #\d+ POST /")

    def test_a_canceled_request_is_not_shown_as_an_error(self):
        self.search("never")
        canceled = self.row(status="canceled")["id"]
        self.assertIn("canceled: dropped by the caller", self.open(canceled))
        self.assertEqual(self.script("return document.querySelectorAll('.details .problem').length"), 0)
        self.assertEqual(self.unfold(canceled)[0]["status"], "canceled")

    def test_the_curl_command_can_be_copied(self):
        self.open(self.row(path="/feed", status="200")["id"])
        self.click("copy")
        self.until(lambda: self.text("[data-action=copy]") in ("Copied", "Selected"), "the button confirms the copy")
        self.until(lambda: self.text("[data-action=copy]") == "Copy as curl", "the button is back")

    def test_an_error_is_shown_and_a_hostile_body_stays_text(self):
        self.search("missing")
        details = self.open(self.row(status="404")["id"])
        self.assertIn("validation failed: status 404, expected 200..<300", details)
        self.assertIn("<script>alert(1)</script>", self.text("[data-part=messages]"))
        self.assertEqual(self.script("return document.scripts.length"), 1)

    def export(self):
        """Exports the list, and returns the file and its entries."""
        file = self.downloads / "ness.har"
        file.unlink(missing_ok=True)
        self.click("export")
        self.until(file.exists, "the file is saved")
        log = json.loads(file.read_text())["log"]
        self.assertEqual((log["version"], missing({"name": str, "version": str}, log["creator"])), ("1.2", []))
        self.assertEqual([missing(HAR, entry) for entry in log["entries"]], [[]] * len(log["entries"]))
        return file, log["entries"]

    def pause_with_whole_feeds(self):
        self.pause()
        if self.count() % 6 == 0:
            return True
        self.click("pause")

    def test_an_export_has_an_entry_for_each_exchange_and_can_be_imported(self):
        self.choose("shared")
        self.until(lambda: {row["path"] for row in self.rows()} == {"/feed"}, "the list shows only /feed")
        self.until(self.pause_with_whole_feeds, "each feed has six callers")
        self.assertEqual(len(self.export()[1]), self.count() / 6)
        self.choose("all")
        self.search("old")
        file, entries = self.export()
        self.assertEqual(len(entries), self.count() * 2)
        self.find("[data-field=search]").clear()
        self.find("[data-field=file]").send_keys(str(file))
        self.until(lambda: self.text(".connection") == "file", "the file is shown")
        self.assertIn("ness.har", self.text("[data-panel=banner]"))
        self.until(lambda: self.count() == len(entries), "there is a row for each entry")
        self.assertEqual({row["path"] for row in self.rows()}, {"/old", "/new"})
        self.click("back")
        self.until(lambda: "paused" in self.text(".connection"), "the list is back")

    def test_the_keyboard_reaches_the_rows_and_their_details(self):
        self.search("feed")
        self.row(path="/feed")
        self.click("pause")
        focused = lambda: self.script("return document.activeElement.dataset.key")
        press = lambda key: self.browser.switch_to.active_element.send_keys(key)
        self.find(".row").send_keys(Keys.HOME)
        first = focused()
        press(Keys.ARROW_DOWN)
        second = focused()
        self.assertGreater(int(second), int(first))
        press(Keys.ENTER)
        self.until(lambda: f"#{second} " in self.text(".details h2"), "Enter opens the details")
        press(Keys.ESCAPE)
        self.until(lambda: not self.find(".details").is_displayed(), "Escape closes the details")
        self.assertEqual(focused(), second)
        press(Keys.ARROW_UP)
        self.assertEqual(focused(), first)

    def test_the_page_is_light_or_dark_as_the_system(self):
        def brightness(scheme, name):
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            if SCREENSHOTS:
                os.makedirs(SCREENSHOTS, exist_ok=True)
                self.browser.save_screenshot(f"{SCREENSHOTS}/inspector-{name}.png")
            color = self.script("return getComputedStyle(document.body).backgroundColor")
            return max(int(part) for part in re.findall(r"\d+", color)[:3])

        self.row(path="/film", status="200")
        self.assertGreater(brightness("light", "light"), 200)
        self.assertLess(brightness("dark", "dark"), 60)
        self.open([row for row in self.rows(status="200") if "refreshWait" in row["bars"]][-1]["id"])
        self.assertGreater(brightness("light", "details-light"), 200)

    def test_the_server_rejects_a_wrong_token_host_or_origin(self):
        address = urlsplit(self.url)
        self.assertEqual(self.status_of(f"/?{address.query}"), 200)
        for path in ("/", "/?token=guess", "/events", "/requests/1"):
            self.assertEqual(self.status_of(path), 403, path)
        self.assertEqual(self.status_of(f"/?{address.query}", Host="evil.example"), 403)
        self.assertEqual(self.status_of(f"/?{address.query}", Origin="http://evil.example"), 403)


if __name__ == "__main__":
    unittest.main(verbosity=2)
