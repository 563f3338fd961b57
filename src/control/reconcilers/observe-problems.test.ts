import { describe, expect, it } from 'vitest';
import { backend, goodModelSpec, model } from '../../../test/support/catalog-objects.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { idleFigures } from '../../../test/support/idle-figures.ts';
import { observedBackend, observedCatalog, observedEndpoints } from '../../../test/support/observed.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { compile } from '../catalog/compile.ts';
import { createSnapshots } from '../catalog/snapshots.ts';
import type { CatalogObject, CatalogProblem, KubeObject } from '../../core/catalog.ts';
import type { ObservedBackend, ObservedCatalog } from '../../core/observed-catalog.ts';
import { findProblems } from '../problems/find-problems.ts';
import { createSlices } from '../../process/turns.ts';
import { createErrorCounts } from '../../telemetry/performance/error-counts.ts';
import { createObserver } from './observe-problems.ts';

interface Situation {
  readonly objects?: readonly CatalogObject[];
  /** What is wrong with files. */
  readonly files?: readonly CatalogProblem[];
  readonly own?: Partial<ObservedCatalog>;
  readonly edgeEndsInDays?: number;
  /** How long Envoy takes to list its certificates. */
  readonly answerMs?: number;
}

const checked = { healthCheck: { path: '/health' } };
const good = [backend('vllm-a', checked), model('a')];
const dayMs = 86_400_000;

/** What is found in a situation, as the list shows it; and what makes more happen in it. */
function setUp({ objects = good, files = [], own = {}, edgeEndsInDays, answerMs = 0 }: Situation = {}) {
  const clock = createFakeClock();
  const compilation = compile(objects);
  const { snapshot } = compilation;
  const replica = observedCatalog(snapshot.clusters, own);
  const errors = createErrorCounts(clock);
  let asked = 0;
  const observe = createObserver({
    ...{ clock, errors, figures: idleFigures(), refusedShare: () => 0, log: { warn: () => undefined } },
    identities: () => ({ faulty: new Map(), refused: [] }),
    avoidable: () => [],
    store: {
      status: () => ({ database: 'up', journalBytes: 0, hasRoom: true, reason: undefined }),
    },
    catalog: {
      snapshots: createSnapshots(snapshot, () => undefined),
      look: async () => ({
        ...{ compilation, own: replica, problems: [...files, ...compilation.problems] },
        objects: objects.map(asKube),
      }),
    },
    admin: {
      ownCertificates: async () => {
        asked += 1;
        clock.advance(answerMs);
        const expiresAt = clock.now() + (edgeEndsInDays ?? 0) * dayMs;
        return edgeEndsInDays === undefined ? [] : [{ names: ['gateway.example.com'], expiresAt }];
      },
    },
  });
  const found = async () =>
    (await findProblems(await observe(), { isListed: () => false, inSlices: createSlices() })).findings.map(
      ({ object, kind, problem }) => `${object} ${kind} ${problem}`,
    );
  return { clock, errors, observe, found, asked: () => asked };
}

function asKube(declared: CatalogObject): KubeObject {
  const [kind = '', name = ''] = declared.where.split('/');
  return {
    ...{ kind: kind === 'Model' ? 'Model' : 'Backend', name, uid: declared.where, generation: 1, resourceVersion: '1' },
    ...{ finalizers: [], annotations: {}, status: undefined, declared },
  };
}

const failing = [{ endpoint: '10.0.0.3:80', why: 'health-check' }] as const;
const route = 'qwen/qwen3-8b@vllm-a';
const vllmA = (changes: Partial<ObservedBackend>) => new Map([['vllm-a', observedBackend(changes)]]);

/** The conditions are made as for the status of the objects: each reason that is a problem is seen to arrive as one. */
describe('a service and its catalog', () => {
  it.each<readonly [string, Situation, readonly string[]]>([
    ['all is well', {}, []],
    [
      'an endpoint has no address',
      { own: { backends: vllmA({ unreachable: 'no-address' }) } },
      ['Backend/vllm-a backend-down No endpoint takes requests: spec.endpoint:'],
    ],
    [
      'no endpoint passes its health check',
      { own: { backends: vllmA({ unreachable: 'unhealthy' }) } },
      ['Backend/vllm-a backend-down No endpoint takes requests: spec.healthCheck:'],
    ],
    [
      'one endpoint of two fails its health check',
      {
        own: { backends: vllmA({ endpoints: observedEndpoints({ total: 2, healthy: 1, failing }) }) },
      },
      ['Backend/vllm-a endpoints-failing Some endpoints get no requests: 1 of 2 endpoints; 10.0.0.3:80 fails'],
    ],
    [
      'the requests of a route fail',
      { own: { out: new Set([route]), unlisted: new Set(['qwen/qwen3-8b']) } },
      ['Backend/vllm-a backend-down No endpoint takes requests: requests on all'],
    ],
    [
      'Envoy refuses a cluster',
      { own: { clusters: new Set(), backends: vllmA({ refused: 'no such file' }) } },
      ['Backend/vllm-a cluster-refused Envoy does not take it: refused by'],
    ],
    [
      'Envoy does not have a cluster yet',
      { own: { clusters: new Set() } },
      ['Backend/vllm-a replica-behind Its newest version', 'Model/a model-not-served'],
    ],
    [
      'a model misses its service level',
      { own: { unlisted: new Set(['qwen/qwen3-8b']) } },
      ['Model/a model-below-level Callers do not see it in the list of models: spec.serviceLevel'],
    ],
    [
      'an object is refused',
      { objects: [...good, backend('vllm-b', { engine: 'abacus' })] },
      ['Backend/vllm-b object-refused Refused: spec.engine: expected one of'],
    ],
    [
      'a model names a backend that is not there',
      { objects: [model('a', { routes: [{ ...goodModelSpec.routes[0], backend: 'vllm-x' }] })] },
      ['Model/a object-refused Refused: spec.routes[0].backend:'],
    ],
    [
      'a file cannot be parsed, and another one has a broken object in the place of a good one',
      {
        files: [
          { where: 'a.yaml:3', field: '', message: 'expected YAML' },
          { where: 'b.yaml#2:3', field: 'spec.engine', message: 'required', object: 'Backend/vllm-a' },
        ],
      },
      ['manifest/a.yaml object-refused', 'Backend/vllm-a object-refused Refused: spec.engine: required (b.yaml#2:3).'],
    ],
    [
      'the certificate of the edge expires',
      { edgeEndsInDays: 3 },
      ['certificate/gateway.example.com certificate-expires The certificate that callers see expires in 3 days'],
    ],
  ])('%s', async (_, situation, expected) => {
    const { found } = setUp(situation);
    expect(await found()).toEqual(expected.map((text) => expect.stringContaining(text)));
  });

  it('names the Backend whose attempts fail, with the cause, and the Model that has no other', async () => {
    const { errors, found } = setUp();
    for (let count = 0; count < 28; count += 1) {
      errors.outcome(sampleOutcome({ modelId: 'qwen/qwen3-8b', kind: 'failed', refusedFor: 'account' }));
      errors.attempt('vllm-a', {
        kind: 'failed',
        fault: { kind: 'status', detail: '', engineError: 'account', status: 401 },
      });
    }
    expect(await found()).toEqual([
      'Backend/vllm-a backend-failing 28 of 28 attempts failed in the last 15 minutes (100 %). It refuses the credential (HTTP 401). No other route serves qwen/qwen3-8b.',
    ]);
  });

  it.each([
    [0, 15_000],
    [100, 20_000],
    [5_000, 60_000],
  ])('asks Envoy, whose answer takes %d ms, for certificates every %d ms', async (answerMs, everyMs) => {
    const { clock, observe, asked } = setUp({ answerMs });
    await observe();
    clock.advance(everyMs - answerMs - 1);
    await observe();
    expect(asked()).toBe(1);
    clock.advance(1);
    await observe();
    expect(asked()).toBe(2);
  });
});
