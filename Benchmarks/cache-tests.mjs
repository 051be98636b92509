// Measures the cache by the public suite, in its mode for browsers:
//     node Benchmarks/cache-tests.mjs PATH-OF-THE-SUITE PATH-OF-THE-CLIENT [TEST…]
// The suite is github.com/http-tests/cache-tests; the client is the product `cache-tests` of this package. Node 20 or newer. With
// CACHE_FOLDER=PATH or CACHE_REDIS=SOCKET in the environment, the client has its cache in that folder or Redis server.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [suite, program, ...chosen] = process.argv.slice(2)
const port = 8765
const load = path => import(pathToFileURL(resolve(suite, path)))
Object.assign(process.env, { npm_config_protocol: 'http', npm_config_port: `${port}`, npm_config_pidfile: '/dev/null' })
await load('test-engine/server/server.mjs')

// The suite's checks call fetch; what is for the server's tests goes through the client, the rest is the suite's own talk with its server.
const client = spawn(resolve(program), { stdio: ['pipe', 'pipe', 'inherit'] })
const waiting = new Map()
createInterface({ input: client.stdout }).on('line', line => {
  const answer = JSON.parse(line)
  waiting.get(answer.id)?.(answer)
  waiting.delete(answer.id)
})
const ownFetch = globalThis.fetch
let count = 0
globalThis.fetch = async (url, init = {}) => {
  if (!`${url}`.includes('/test/')) return ownFetch(url, init)
  const headers = init.headers.map(field => field.map(String))
  // What a browser adds for this mode.
  if (init.cache === 'no-cache') headers.push(['Cache-Control', 'max-age=0'])
  const id = count++
  const answered = new Promise(resolve => waiting.set(id, resolve))
  client.stdin.write(JSON.stringify({
    id, url: `${url}`, method: init.method, headers, body: init.body, keepsRedirects: init.redirect === 'manual'
  }) + '\n')
  const answer = await answered
  if (answer.error !== undefined && answer.error !== null) throw new TypeError(answer.error)
  const received = new Headers()
  for (const [name, value] of answer.headers) received.append(name, value)
  return { status: answer.status, headers: received, text: async () => answer.body }
}

const { runTests, getResults } = await load('test-engine/client/runner.mjs')
const { determineTestResult, resultTypes } = await load('test-engine/lib/results.mjs')
const suites = (await load('tests/index.mjs')).default
const wanted = suites.map(one => ({ ...one, tests: one.tests.filter(test => chosen.length === 0 || chosen.includes(test.id)) }))
await runTests(wanted, true, `http://localhost:${port}`)

const results = getResults()
const counts = {}
for (const test of wanted.flatMap(one => one.tests)) {
  if (test.cdn_only || test.browser_skip) continue
  const kind = test.kind ?? 'required'
  const result = determineTestResult(suites, test.id, results, chosen.length === 0)
  const passes = result === resultTypes.pass || result === resultTypes.yes
  counts[kind] ??= { passed: 0, all: 0 }
  counts[kind].all += 1
  if (passes) counts[kind].passed += 1
  if (!passes && kind !== 'check') console.log(`${result[2]} ${kind} ${test.id}: ${results[test.id]?.[1] ?? ''}`)
}
for (const [kind, { passed, all }] of Object.entries(counts)) console.log(`${kind}: ${passed} of ${all}`)
process.exit(0)
