type Files = readonly string[];

const envoy = (...names: readonly string[]): Files => names.map((name) => `test/envoy/${name}.test.ts`);

/**
 * What Weir promises, and the tests that show it with real programs: Envoy, SQLite, PostgreSQL, Valkey, Chromium, official clients. `npm test` runs these
 * files, so none may need what is built or installed by hand.
 */

/** By words of README.md. */
export const promisesOfReadme: Readonly<Record<string, Files>> = {
  'npm start': envoy('readme', 'start-refusals', 'start-envoy-finder'),
  'Streams survive engine failures': envoy('fault-sweep', 'messages-cut', 'engine-cut'),
  'Slow engines are hedged': envoy('hedging'),
  'Bills are exact': [...envoy('explain', 'reservations'), 'test/stores/postgres.test.ts'],
  'Tenants do not share caches': envoy('cache-isolation'),
  'No content is stored': envoy('privacy'),
  'every model of that engine': envoy('readme'),
  'one address': envoy('quirks', 'aliases'),
  'The portal': [...envoy('portal'), 'test/portal/from-nothing.test.ts'],
};

/** By section of docs/reference/api.md and docs/reference/endpoints.md. */
export const sectionsOfContract: Readonly<Record<string, Files>> = {
  '1': envoy('privacy', 'aliases', 'cancel'),
  '2.1': envoy('catalog-performance'),
  '2.2': envoy('contract-messages'),
  '2.3': envoy('chat'),
  '2.4': envoy('chat'),
  '2.5': envoy('edge-replies'),
  '3': envoy('key-details'),
  '4': envoy('edge-replies'),
  '4.1': envoy('contract-parameters', 'responses-client'),
  '4.1.1': envoy('contract-reasoning'),
  '4.1.2': envoy('keep-alive'),
  '4.1.3': envoy('context', 'body-limit'),
  '4.2': envoy('catalog-performance', 'key-details'),
  '4.3': envoy('messages-client', 'web-search-off'),
  '4.4': envoy('further-paths'),
  '4.5': envoy('further-paths'),
  '4.6': envoy('embeddings'),
  '4.7': envoy('rerank'),
  '5': envoy('limits', 'key-details'),
  '6': envoy('chat', 'messages-client'),
  '7.1': envoy('chat', 'request-refusals', 'tags'),
  '7.2': envoy('contract-refusals', 'web-search-off'),
  '7.3': envoy('messages-cut', 'keep-alive'),
  '7.4': envoy('messages-client'),
  '7.5': envoy('request-refusals'),
  '8': [...envoy('limits'), 'test/stores/valkey-limits.test.ts'],
  '9': envoy('messages-client'),
};

export const promiseFiles: ReadonlySet<string> = new Set(
  [promisesOfReadme, sectionsOfContract].flatMap((table) => Object.values(table).flat()),
);
