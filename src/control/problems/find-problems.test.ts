import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createSlices } from '../../process/turns.ts';
import type { ErrorFigure } from './error-rates.ts';
import { findProblems, type Observed } from './find-problems.ts';
import { type Finding, type FoundKind, listingDelays } from './kinds.ts';
import type { ObservedCondition, ObservedObject } from './object-problems.ts';
import type { ObservedService, ObservedStore } from './service-problems.ts';

const now = Date.parse('2026-07-01T12:00:00Z');
const mebibyte = 1024 ** 2;

const store: ObservedStore = {
  ...{ database: 'up', journalBytes: 0, journalLimitBytes: 256 * mebibyte, hasRoom: true, isDamaged: false },
};
const service: ObservedService = {
  ...{
    now,
    store,
    failing: [],
    disk: { free: 50, size: 100 },
    filesShare: 0.1,
    isEnvoyAnswering: true,
    unansweredMs: 0,
  },
  ...{ refusedShare: 0, catalogAgeMs: 0, certificates: [], events: [] },
};
const well: Observed = {
  service,
  mistakes: [],
  objects: [],
  errors: [],
  identities: { faulty: new Map(), refused: [] },
  avoidable: [],
};
const inService = (changes: Partial<ObservedService>): Observed => ({ ...well, service: { ...service, ...changes } });
const inStore = (changes: Partial<ObservedStore>): Observed => inService({ store: { ...store, ...changes } });

function object(name: string, condition: string, message = 'because'): Observed {
  const [type = '', status, reason = ''] = condition.split(' ');
  const conditions = [{ type, status: status as ObservedCondition['status'], reason, message }];
  const model = name.startsWith('Model/') ? 'org/a' : undefined;
  return { ...well, objects: [{ object: name, model, conditions }] };
}
function identity(type: string, reason: string, message: string): Observed {
  const faulty = new Map([['Identity/search/prod', [{ type, status: 'False' as const, reason, message }]]]);
  return { ...well, identities: { faulty, refused: [] } };
}
const refusedTokens = (count: number): Observed => ({
  ...well,
  identities: {
    faulty: new Map(),
    refused: [{ issuer: 'cluster', fault: 'other-audience', reason: 'aud is "a", expected "weir"', count }],
  },
});
const certificate = (expiresAt: string): Observed =>
  inService({ certificates: [{ object: 'certificate/a', what: 'The certificate', expiresAt: Date.parse(expiresAt) }] });
const failing = (name: string, model?: string): ErrorFigure => ({
  ...{
    object: name,
    model,
    windowMs: 900_000,
    failed: 9,
    total: 10,
    lately: { failed: 2, total: 2 },
    inARow: 0,
    estimated: 0,
    lastFault: undefined,
  },
});

const look = (observed: Observed, isListed = false) =>
  findProblems(observed, { isListed: () => isListed, inSlices: createSlices() });
const all = async (observed: Observed, isListed = false): Promise<readonly Finding[]> =>
  (await look(observed, isListed)).findings;

/** Each line: what is observed, and the one problem that it is. */
const table: readonly (readonly [string, Observed, FoundKind, object: string, problem: string])[] = [
  [
    'the database is down',
    inStore({ database: 'down', reason: 'no route', journalBytes: 3 * mebibyte }),
    'database-down',
    'database',
    'Takes no bills (no route): 3.0 MiB of bills wait in the journal.',
  ],
  [
    'the journal is settled',
    inStore({ database: 'replaying', journalBytes: 20 * mebibyte }),
    'database-replaying',
    'database',
    'Is back, and 20 MiB of the journal are not settled yet.',
  ],
  ['the database file is damaged', inStore({ isDamaged: true }), 'database-damaged', 'database', 'damage'],
  [
    'the journal fills',
    inStore({ journalBytes: 128 * mebibyte }),
    'journal-filling',
    'journal',
    'Is 50 % full (128 MiB of 256 MiB).',
  ],
  [
    'the journal is full',
    inStore({ journalBytes: 216 * mebibyte, hasRoom: false }),
    'journal-filling',
    'journal',
    'Is 84 % full (216 MiB of 256 MiB): new requests are refused with 503.',
  ],
  [
    'the journal cannot be written',
    inStore({ database: 'up', journalBytes: 0, hasRoom: false, journalFault: 'EROFS: read-only file system' }),
    'journal-filling',
    'journal',
    'Cannot be written (EROFS: read-only file system): new requests are refused with 503.',
  ],
  [
    'the disk fills',
    inService({ disk: { free: 6 * 1024 ** 3, size: 100 * 1024 ** 3 } }),
    'disk-filling',
    'disk',
    'The data folder’s disk has 6 % left (6.0 GiB of 100 GiB).',
  ],
  [
    'the open files near their limit',
    inService({ filesShare: 0.75 }),
    'files-filling',
    'service',
    'Has 75 % of the files open that it may have',
  ],
  ['Envoy is silent', inService({ isEnvoyAnswering: false }), 'envoy-silent', 'envoy', 'admin socket'],
  ['Envoy takes no endpoints', inService({ unansweredMs: 45_000 }), 'replica-behind', 'envoy', 'for 45 seconds'],
  ['requests are refused', inService({ refusedShare: 0.4 }), 'overloaded', 'service', 'Refuses 40 % of new requests'],
  [
    'Valkey refuses the password',
    inService({ failing: [{ dependency: 'valkey', cause: 'credential-refused', reason: 'WRONGPASS' }] }),
    'valkey-down',
    'valkey',
    'Refuses the credential (WRONGPASS): each replica keeps to its share of the limits.',
  ],
  [
    'Valkey is away',
    inService({ failing: [{ dependency: 'valkey', cause: 'silent', reason: '' }] }),
    'valkey-down',
    'valkey',
    'Does not answer in time: each replica',
  ],
  [
    'the receiver of webhooks refuses',
    inService({ failing: [{ dependency: 'webhook', cause: 'no-such-path', reason: 'the receiver answered 404' }] }),
    'dependency-failing',
    'webhook',
    'Has no such path (the receiver answered 404): alerts wait, and are tried again for a day.',
  ],
  [
    'a receiver of events that is behind',
    inService({ events: [{ name: 'events', waiting: 7, lagMs: 3_600_000, droppedSince: undefined }] }),
    'events-late',
    'events',
    'The oldest of 7 events waits for 1 hour.',
  ],
  [
    'events that were dropped',
    inService({ events: [{ name: 'events', waiting: 0, lagMs: 0, droppedSince: Date.UTC(2026, 6, 1) }] }),
    'events-dropped',
    'events',
    'Events from 2026-07-01T00:00:00.000Z on were dropped',
  ],
  [
    'a tag with a limit may be left out',
    { ...well, avoidable: [{ workspace: 'acme', tags: ['team=search'], callers: 3, caller: 'ci' }] },
    'limit-avoidable',
    'workspace/acme',
    'The limit of team=search can be avoided: 3 keys (such as ci) may leave the tag out, and no such limit is set for them.',
  ],
  [
    'tags with a limit may be left out by one key',
    { ...well, avoidable: [{ workspace: 'acme', tags: ['a=1', 'b=2', 'c=3', 'd=4'], callers: 1, caller: 'ci' }] },
    'limit-avoidable',
    'workspace/acme',
    'The limit of a=1, b=2, c=3 and 1 more can be avoided: a key (ci) may leave the tag out, and no such limit is set for it.',
  ],
  [
    'the collector of traces is away',
    inService({ failing: [{ dependency: 'tracing', cause: 'connection-refused', reason: 'ECONNREFUSED' }] }),
    'dependency-failing',
    'tracing',
    'Refuses connections (ECONNREFUSED): spans are dropped.',
  ],
  [
    'the database is full',
    inStore({ database: 'down', cause: 'disk-full', reason: 'No space left', journalBytes: 3 * mebibyte }),
    'database-down',
    'database',
    'Has a full disk (No space left), and takes no bills: 3.0 MiB of bills wait in the journal.',
  ],
  ['the API server is away', inService({ catalogAgeMs: 120_000 }), 'catalog-old', 'catalog', '2 minutes ago'],
  [
    'a certificate expires soon',
    certificate('2026-07-10T13:30:00Z'),
    'certificate-expires',
    'certificate/a',
    'The certificate expires in 9 days (2026-07-10 13:30 UTC).',
  ],
  [
    'a certificate has expired',
    certificate('2026-07-01T09:00:00Z'),
    'certificate-expires',
    'certificate/a',
    'The certificate expired 3 hours ago (2026-07-01 09:00 UTC).',
  ],
  [
    'an endpoint has no address',
    object('Backend/a', 'Healthy False NoAddress'),
    'backend-down',
    'Backend/a',
    'No endpoint takes requests: because.',
  ],
  [
    'a Service has no ready pod',
    object('Backend/a', 'Healthy False NoReadyEndpoint'),
    'backend-down',
    'Backend/a',
    'No endpoint takes requests: because.',
  ],
  [
    'a health check fails',
    object('Backend/a', 'Healthy False HealthCheckFailed', 'it answered with 401'),
    'backend-down',
    'Backend/a',
    'No endpoint takes requests: it answered with 401.',
  ],
  [
    'requests to a backend fail',
    object('Backend/a', 'Healthy False RequestsFail'),
    'backend-down',
    'Backend/a',
    'No endpoint takes requests: because.',
  ],
  [
    'an engine refuses the credential',
    object('Backend/a', 'Healthy False CredentialRefused', 'it refuses the credential (HTTP 401)'),
    'backend-down',
    'Backend/a',
    'Not healthy: it refuses the credential (HTTP 401).',
  ],
  [
    'some endpoints fail',
    object('Backend/a', 'Healthy True SomeEndpointsFail', '7 of 8 endpoints'),
    'endpoints-failing',
    'Backend/a',
    'Some endpoints get no requests: 7 of 8 endpoints.',
  ],
  [
    'an engine lists something else than is declared',
    object('Backend/a', 'Healthy True DiffersFromManifest', 'upstreamModel "a" is not listed; it lists b'),
    'backend-differs',
    'Backend/a',
    'The engine lists something else than the manifests declare: upstreamModel "a" is not listed; it lists b.',
  ],
  [
    'nobody counts the tokens of an engine',
    { ...well, errors: [{ ...failing('Backend/a'), failed: 0, estimated: 3 }] },
    'usage-estimated',
    'Backend/a',
    'The engine reports no usable counts of tokens, and the model has no tokenizer: bills, budgets and limits in tokens count estimates.',
  ],
  [
    'Envoy refuses a cluster',
    object('Backend/a', 'Programmed False EnvoyRefused'),
    'cluster-refused',
    'Backend/a',
    'Envoy does not take it: because.',
  ],
  [
    'a replica lags',
    object('Backend/a', 'Programmed False Lagging'),
    'replica-behind',
    'Backend/a',
    'Its newest version does not serve everywhere: because.',
  ],
  [
    'a model has no route',
    object('Model/a', 'Servable False NoRouteReady'),
    'model-not-served',
    'Model/a',
    'No route takes requests: because.',
  ],
  [
    'a model makes other vectors than before',
    object('Model/a', 'SameVectors False VectorsChanged', 'lowest cosine 0.5000'),
    'vectors-changed',
    'Model/a',
    'so it gets no requests: lowest cosine 0.5000.',
  ],
  [
    'endpoints of a model make other vectors',
    object('Model/a', 'SameVectors False OtherVectors', 'lowest cosine 0.5000'),
    'vectors-differ',
    'Model/a',
    'Some endpoints make other vectors, and get no requests: lowest cosine 0.5000.',
  ],
  [
    'a model misses its level',
    object('Model/a', 'Listed False BelowServiceLevel'),
    'model-below-level',
    'Model/a',
    'do not see it',
  ],
  [
    'requests to a model fail',
    { ...well, errors: [failing('Model/a', 'org/a')] },
    'model-failing',
    'Model/a',
    '9 of 10 requests failed in the last 15 minutes (90 %).',
  ],
  [
    'attempts on a backend fail',
    { ...well, errors: [failing('Backend/a')] },
    'backend-failing',
    'Backend/a',
    '9 of 10 attempts failed in the last 15 minutes (90 %).',
  ],
  [
    'an object is refused',
    {
      ...well,
      mistakes: [{ where: 'b.yaml#2:7', field: 'spec.engine', message: 'expected one of "vllm"', object: 'Backend/a' }],
    },
    'object-refused',
    'Backend/a',
    'Refused: spec.engine: expected one of "vllm" (b.yaml#2:7).',
  ],
  [
    'an object of a cluster is refused',
    { ...well, mistakes: [{ where: 'Model/a', field: 'spec.id', message: 'required', object: 'Model/a' }] },
    'object-refused',
    'Model/a',
    'Refused: spec.id: required.',
  ],
  [
    'a file cannot be read',
    { ...well, mistakes: [{ where: 'b.yaml#2:7', field: '', message: 'expected YAML', object: undefined }] },
    'object-refused',
    'manifest/b.yaml',
    'Refused: expected YAML (b.yaml#2:7).',
  ],
  [
    'an Identity is refused',
    identity('Accepted', 'WorkspaceNotFound', 'spec.workspace: expected a Workspace'),
    'identity-refused',
    'Identity/search/prod',
    'Refused: spec.workspace: expected a Workspace.',
  ],
  [
    'no token of an Identity can be verified',
    identity('Ready', 'IdentitiesOff', 'WEIR_IDENTITIES is off'),
    'identity-refused',
    'Identity/search/prod',
    'Its tokens let nobody in: WEIR_IDENTITIES is off.',
  ],
  [
    'tokens are refused',
    refusedTokens(3),
    'identity-refused',
    'tokens',
    'Refused 3 tokens of cluster lately (other-audience): aud is "a", expected "weir".',
  ],
];

describe('the rules', () => {
  it.each(table)('%s', async (_, observed, kind, name, problem) => {
    const found = await all(observed);
    expect(found).toEqual([
      expect.objectContaining({ kind, object: name, problem: expect.stringContaining(problem) as string }),
    ]);
    expect(found[0]?.model).toBe(name.startsWith('Model/') && kind !== 'object-refused' ? 'org/a' : undefined);
  });

  it('are shown for every kind', () => {
    expect(Object.keys(listingDelays).filter((kind) => !table.some(([, , shown]) => shown === kind))).toEqual([]);
  });

  it.each(['Suspended', 'Revoked', 'NotAccepted', 'WorkspaceNotReady'])(
    'list no Identity that is wanted so, or says it elsewhere: %s',
    async (reason) => {
      expect(await all(identity('Ready', reason, ''))).toEqual([]);
    },
  );

  it('take a reason that they do not know for one of its kind, and leave out what another problem says', async () => {
    const kindsOf = async (condition: string) => (await all(object('Model/a', condition))).map(({ kind }) => kind);
    expect(await kindsOf('Servable False OfANewSort')).toEqual(['model-not-served']);
    expect(await kindsOf('Healthy False OfANewSort')).toEqual(['backend-down']);
    expect(await kindsOf('Healthy True OfANewSort')).toEqual([]);
    for (const reason of ['NotProgrammed', 'NotTried']) expect(await kindsOf(`Healthy Unknown ${reason}`)).toEqual([]);
    for (const reason of ['NotAccepted', 'BackendNotUsable', 'Left']) {
      expect(await kindsOf(`Servable False ${reason}`)).toEqual([]);
    }
    for (const reason of ['NotInCatalog', 'NotServable']) expect(await kindsOf(`Listed False ${reason}`)).toEqual([]);
  });

  it('find nothing where all is well', async () => {
    expect(await all(well)).toEqual([]);
    const healthy = ['Accepted True Accepted', 'Programmed True Programmed', 'Healthy True NothingFailed'];
    const retiring = ['Retiring True RetireAt', 'Servable True SomeRoutesReady', 'Priced True Priced'];
    for (const condition of [...healthy, ...retiring]) expect(await all(object('Backend/a', condition))).toEqual([]);
    expect(await all(certificate('2026-07-16T00:00:00Z'))).toEqual([]);
    expect(await all(inService({ disk: undefined, catalogAgeMs: undefined }))).toEqual([]);
  });

  it.each([
    ['ENOSPC: no space left on device, write', /^Make room .* continues by itself: docs/],
    ['EDQUOT: disk quota exceeded, write', /^Make room .* continues by itself: docs/],
    ['EACCES: permission denied, open', /^Correct what the reason names; Weir then continues by itself: docs/],
    ['EROFS: read-only file system, open', /^Stop Weir, repair or mount .*, then start Weir: docs/],
    ['EIO: i/o error, fdatasync', /^Stop Weir, repair or mount .*, then start Weir: docs/],
  ])('ask for a restart only where the disk must be mounted again: %s', async (journalFault, action) => {
    const found = await all(inStore({ hasRoom: false, journalFault }));
    expect(found.map((one) => one.action)).toEqual([expect.stringMatching(action)]);
  });

  it('name a section of a page that is there, wherever an action names one', async () => {
    for (const [, observed] of table) {
      for (const { action } of await all(observed)) {
        const [, page = '', section = ''] = /(docs\/[\w/-]+\.md)#([\w-]+)/.exec(action) ?? [];
        if (page === '') expect(action).not.toContain('docs/');
        else expect(sectionsOf(page), action).toContain(section);
      }
    }
  });
});

/** As GitHub makes anchors of headings. */
function sectionsOf(page: string): readonly string[] {
  return [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe('thresholds with a way back', () => {
  it.each<readonly [string, Observed, isProblem: boolean, isStillOne: boolean]>([
    ['9 % of the disk', inService({ disk: { free: 9, size: 100 } }), true, true],
    ['11 % of the disk', inService({ disk: { free: 11, size: 100 } }), false, true],
    ['12 % of the disk', inService({ disk: { free: 12, size: 100 } }), false, false],
    ['71 % of the files', inService({ filesShare: 0.71 }), true, true],
    ['65 % of the files', inService({ filesShare: 0.65 }), false, true],
    ['59 % of the files', inService({ filesShare: 0.59 }), false, false],
    ['41 % of the journal', inStore({ journalBytes: 105 * mebibyte }), true, true],
    ['35 % of the journal', inStore({ journalBytes: 90 * mebibyte }), false, true],
    ['29 % of the journal', inStore({ journalBytes: 74 * mebibyte }), false, false],
  ])('%s', async (_, observed, isProblem, isStillOne) => {
    expect([(await all(observed)).length, (await all(observed, true)).length]).toEqual([
      Number(isProblem),
      Number(isStillOne),
    ]);
  });
});

describe('problems that say the same', () => {
  const down = object('Backend/a', 'Healthy False NoAddress').objects;
  const objectsOf = (backends: readonly string[]): readonly ObservedObject[] => [
    ...down,
    ...object('Model/a', 'Servable False NoRouteReady').objects.map((model) => ({ ...model, backends })),
  ];

  it('are one: a backend that is down needs no share of failures', async () => {
    expect((await all({ ...well, objects: down, errors: [failing('Backend/a')] })).map(({ kind }) => kind)).toEqual([
      'backend-down',
    ]);
    const unserved: readonly ObservedObject[] = object('Model/a', 'Servable False NoRouteReady').objects;
    const found = await all({ ...well, objects: unserved, errors: [failing('Model/a', 'org/a')] });
    expect(found.map(({ kind }) => kind)).toEqual(['model-not-served']);
  });

  it('are one where a Model has no other Backend, and name the Model; two where it has', async () => {
    const [one, ...others] = await all({ ...well, objects: objectsOf(['a']) });
    expect(others).toEqual([]);
    expect(one).toMatchObject({ object: 'Backend/a', model: 'org/a' });
    expect(one?.problem).toMatch(/ No other route serves org\/a\.$/);
    expect((await all({ ...well, objects: objectsOf(['a', 'b']) })).map((found) => found.object)).toEqual([
      'Backend/a',
      'Model/a',
    ]);
  });

  it('are one where the requests of a Model fail for the cause of one of its Backends, and two for another cause', async () => {
    const failed = (cause: 'credential-refused' | 'silent'): ErrorFigure => ({
      ...failing('Model/a', 'org/a'),
      lastFault: { cause, status: undefined },
    });
    const objects = [
      ...object('Backend/b', 'Healthy False CredentialRefused').objects,
      { object: 'Model/a', model: 'org/a', backends: ['a', 'b'], conditions: [] },
    ];
    const [one, ...others] = await all({ ...well, objects, errors: [failed('credential-refused')] });
    expect(others).toEqual([]);
    expect(one).toMatchObject({ object: 'Backend/b', cause: 'credential-refused', models: ['org/a'] });
    expect(one?.problem).toMatch(/ Their requests fail, too: org\/a\.$/);
    expect(await all({ ...well, objects, errors: [failed('silent')] })).toHaveLength(2);
  });

  it('are two where they are of two objects', async () => {
    expect(await all({ ...well, objects: down, errors: [failing('Backend/b')] })).toHaveLength(2);
  });

  it('are one where an expired certificate explains them, and two where one only ends soon', async () => {
    const endsAt = (at: string): Observed => ({
      ...inService({ certificates: [{ object: 'Backend/a', what: 'The CA certificate', expiresAt: Date.parse(at) }] }),
      ...{ objects: objectsOf(['a']), errors: [failing('Backend/a')] },
    });
    const kinds = async (at: string): Promise<readonly string[]> =>
      (await all(endsAt(at))).map(({ object: name, kind }) => `${kind} ${name}`);
    expect(await kinds('2026-06-01T00:00:00Z')).toEqual(['certificate-expires Backend/a']);
    expect((await all(endsAt('2026-06-01T00:00:00Z')))[0]?.problem).toMatch(/ No other route serves org\/a\.$/);
    expect(await kinds('2026-07-02T12:00:00Z')).toContain('backend-down Backend/a');
  });

  it('are not looked for in conditions while Envoy is silent, and stay as they were', async () => {
    const { findings, unknown } = await look({ ...inService({ isEnvoyAnswering: false }), objects: down });
    expect(findings.map(({ kind }) => kind)).toEqual(['envoy-silent']);
    expect(unknown).toContain('backend-down');
    expect((await look(well)).unknown.size).toBe(0);
  });
});

describe('the mistakes of an author', () => {
  const mistake = (field: string, line = 1) => ({
    ...{ where: `a.yaml:${line}`, field, message: 'required', object: 'Model/a' },
  });

  it('are the same one when lines are written above them', async () => {
    const detailAt = async (line: number) => (await all({ ...well, mistakes: [mistake('spec.id', line)] }))[0]?.detail;
    expect(await detailAt(3)).toBe(await detailAt(9));
  });

  it('have another advice if the object of another file has the name', async () => {
    const [other] = await all({ ...well, mistakes: [{ ...mistake('metadata.name'), isNameConflict: true }] });
    expect(other?.action).toMatch(/^Remove one of the two, or give it another name: /);
    const [own] = await all({ ...well, mistakes: [{ ...mistake('metadata.name'), isNameConflict: false }] });
    expect(own?.action).toMatch(/the last good version serves/);
  });

  it('are listed one by one, and counted where an object has many', async () => {
    const found = await all({ ...well, mistakes: Array.from({ length: 9 }, (_, index) => mistake(`spec.f${index}`)) });
    expect(found.map(({ problem }) => problem).slice(-2)).toEqual([
      'Refused: spec.f4: required (a.yaml:1).',
      'Refused: 4 more mistakes.',
    ]);
    expect(found).toHaveLength(6);
  });
});
