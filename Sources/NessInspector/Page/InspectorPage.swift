/// The page of an inspector: HTML, with its style and its script in it, so that it needs no other file and no network.
enum InspectorPage {
    /// Returns the page.
    /// - Parameter nonce: The mark of the style and the script, which the Content-Security-Policy names.
    static func html(nonce: String) -> String {
        #"""
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <title>Ness inspector</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="referrer" content="no-referrer">
        <link rel="icon" href="data:,">
        <style nonce="\#(nonce)">
        \#(style)
        </style>
        </head>
        <body>
        <header class="top">
          <h1>Ness inspector</h1>
          <span class="connection" data-state="connecting">connecting</span>
          <dl class="totals" aria-label="Totals"></dl>
        </header>
        <div class="tools" role="group" aria-label="List and timeline">
          <input type="search" data-field="search" aria-label="Search in method, host, path, status, and tags" placeholder="Search  ( / )"
            autocomplete="off" spellcheck="false">
          <select data-field="filter" aria-label="Show">
            <option value="all">All requests</option>
            <option value="running">Running</option>
            <option value="errors">Errors</option>
            <option value="cache">From the cache</option>
            <option value="shared">Shared exchanges</option>
          </select>
          <button type="button" data-action="pause" aria-pressed="false">Pause</button>
          <button type="button" data-action="clear" title="Forget all requests that have ended">Clear</button>
          <span class="space"></span>
          <button type="button" data-action="follow" aria-pressed="true" title="Keep the newest request in view">Follow</button>
          <span class="group" role="group" aria-label="Time axis">
            <button type="button" data-action="zoom-out" aria-label="Zoom out" title="Zoom out ( − )">−</button>
            <button type="button" data-action="fit" title="Fit the requests in view ( 0 )">Fit</button>
            <button type="button" data-action="zoom-in" aria-label="Zoom in" title="Zoom in ( + )">+</button>
          </span>
          <button type="button" data-action="export" title="Save the shown requests as a HAR file">Export HAR</button>
          <button type="button" data-action="import" title="Show the entries of a HAR file">Import HAR…</button>
          <input type="file" data-field="file" accept=".har,.json,application/json" aria-label="HAR file" hidden>
        </div>
        <div class="banner" data-panel="banner" hidden>
          <span></span> <button type="button" class="link" data-action="back">Back to live</button>
        </div>
        <main>
        <div class="list" role="treegrid" aria-label="Requests" aria-readonly="true">
          <div class="head" role="row" aria-rowindex="1">
            <div class="cells" role="presentation"></div>
            <div class="ticks" role="columnheader" aria-label="Timeline"></div>
          </div>
          <div class="older" role="row" hidden><span role="gridcell">Older requests are no longer kept.</span></div>
          <div class="rows" role="rowgroup">
            <div class="lines" aria-hidden="true"></div>
            <div class="brackets" aria-hidden="true"></div>
          </div>
        </div>
        <p class="empty" hidden></p>
        </main>
        <section class="details" data-panel="details" aria-label="Details of the request" hidden>
          <header>
            <h2 tabindex="-1"></h2>
            <button type="button" data-action="copy" hidden>Copy as curl</button>
            <button type="button" data-action="close" aria-label="Close the details" title="Close ( Esc )">Close</button>
          </header>
          <div class="columns"><div data-part="why"></div><div data-part="messages"></div></div>
        </section>
        <ul class="legend" aria-label="Colors of the timeline"></ul>
        <div class="unseen" role="status" aria-live="polite"></div>
        <script nonce="\#(nonce)">
        \#(script)
        </script>
        </body>
        </html>
        """#
    }
}
