// @suite apart
import { describe, expect, it } from 'vitest';
import { countTurns } from '../../../test/support/count-turns.ts';
import { idleFigures } from '../../../test/support/idle-figures.ts';
import { sampleEnd } from '../../../test/support/sample-end.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { Outcome } from '../../core/account.ts';
import { Failure } from '../../core/failure.ts';
import type { RequestEnd } from '../core/request-end.ts';
import { failureFacts } from '../core/request-record.ts';
import { createSlices } from '../../process/turns.ts';
import type { EndpointCounts } from '../../core/observed-catalog.ts';
import type { ServiceFigures } from './gauges.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import type { StoreFigures } from './store-gauges.ts';

const model = 'qwen/qwen3-8b';
const route = `${model}@vllm-a`;
const listed = (...ids: readonly string[]): Partial<ServiceFigures> => ({
  catalog: () => ({ models: new Map(ids.map((id) => [id, undefined])), servedAt: 1_780_000_000_000, routes: [] }),
});
const begin = (changes: Partial<ServiceFigures> = {}): Metrics =>
  createMetrics(idleFigures({ ...listed(model), ...changes }), { inSlices: createSlices() });
const linesOf = async (metrics: Metrics): Promise<readonly string[]> =>
  (await metrics.render('prometheus')).split('\n');
const containing = (...lines: readonly string[]): readonly string[] => expect.arrayContaining([...lines]) as string[];

function endOf(outcome: Outcome | undefined, changes: Partial<RequestEnd> = {}): RequestEnd {
  const about = { modelId: outcome?.modelId, kind: outcome?.kind ?? ('refused' as const), outcome };
  return sampleEnd({ requestId: 'CANARY', correlationId: 'CANARY', ...about, ...changes });
}

/** Counts a dispatched request as the pipeline does. */
function took(metrics: Metrics, given: Partial<Outcome> = {}, changes: Partial<RequestEnd> = {}): void {
  const outcome = sampleOutcome(given);
  metrics.outcome(outcome);
  metrics.ended(endOf(outcome, changes));
}

const conventional = `gen_ai_operation_name="chat",gen_ai_provider_name="weir",gen_ai_request_model="${model}"`;

describe('requests', () => {
  it('are counted by surface, model, outcome and code, with labels from our own tables and the catalog alone', async () => {
    const metrics = begin();
    took(metrics, { requestId: 'CANARY', keyId: 'CANARY' });
    took(metrics, { kind: 'cancelled' });
    const failure = new Failure('rate_limited', 'CANARY', { cause: new Error('CANARY'), limit: 'rate' });
    metrics.ended(endOf(undefined, { surface: 'messages', code: 'rate_limited', failure: failureFacts(failure) }));
    metrics.ended(endOf(undefined, { kind: 'failed', wouldRefuse: ['rate', 'tag-tokens'] }));
    metrics.fault(route, { kind: 'status', detail: 'CANARY', status: 503 });
    const text = await metrics.render('prometheus');
    expect(text.split('\n')).toEqual(
      containing(
        `weir_requests_total{surface="chat",model="${model}",outcome="completed",code=""} 1`,
        `weir_requests_total{surface="chat",model="${model}",outcome="cancelled",code=""} 1`,
        'weir_requests_total{surface="messages",model="",outcome="refused",code="rate_limited"} 1',
        'weir_limit_refusals_total{limit="rate"} 1',
        ...['rate', 'tag-tokens'].map((limit) => `weir_limit_would_refuse_total{limit="${limit}"} 1`),
        'weir_limit_would_refuse_total{limit="budget"} 0',
        `weir_attempt_faults_total{model="${model}",backend="vllm-a",fault="status",cause="server-error"} 1`,
      ),
    );
    expect(text).not.toContain('CANARY');
  });

  it('are measured after the conventions for generative AI', async () => {
    const metrics = begin();
    took(metrics, { cost: 1_500_000n, firstTokenMs: 55, durationMs: 345 });
    took(metrics, { kind: 'failed', durationMs: 90_000, usage: { promptTokens: 0, completionTokens: 0 }, cost: 0n });
    expect(await linesOf(metrics)).toEqual(
      containing(
        `gen_ai_server_request_duration_seconds_bucket{le="0.64",${conventional}} 1`,
        `gen_ai_server_request_duration_seconds_count{${conventional},error_type="failed"} 1`,
        `gen_ai_server_time_to_first_token_seconds_bucket{le="0.06",${conventional}} 1`,
        `gen_ai_server_time_per_output_token_seconds_bucket{le="0.025",${conventional}} 1`,
        `gen_ai_client_token_usage_sum{${conventional},gen_ai_token_type="input"} 120`,
        `gen_ai_client_inference_usage_input_tokens_total{${conventional}} 120`,
        `gen_ai_client_inference_usage_output_tokens_total{${conventional}} 30`,
        `gen_ai_client_inference_usage_cache_read_input_tokens_total{${conventional}} 10`,
        `gen_ai_client_inference_usage_reasoning_output_tokens_total{${conventional}} 5`,
        `weir_cost_usd_total{model="${model}"} 0.0000015`,
      ),
    );
  });

  it('that failed have no first token and no pace', async () => {
    const metrics = begin();
    took(metrics, { kind: 'interrupted' });
    const text = await metrics.render('prometheus');
    expect(text).not.toContain('first_token_seconds_count{');
    expect(text).not.toContain('output_token_seconds_count{');
  });

  it('show what the service adds to them in tenths of a millisecond', async () => {
    const metrics = begin();
    took(metrics, {}, { added: { beforeMs: 0.62, afterMs: 1.95 } });
    expect(await linesOf(metrics)).toEqual(
      containing(
        'weir_added_latency_seconds_bucket{le="0.0006",surface="chat",phase="before"} 0',
        'weir_added_latency_seconds_bucket{le="0.0007",surface="chat",phase="before"} 1',
        'weir_added_latency_seconds_bucket{le="0.0019",surface="chat",phase="after"} 0',
        'weir_added_latency_seconds_bucket{le="0.002",surface="chat",phase="after"} 1',
      ),
    );
  });

  it.each<readonly [Partial<Outcome>['kind'], RequestEnd['failovers'], readonly string[]]>([
    ['completed', { beforeOutput: 2, midStream: 0 }, ['before_output recovered']],
    ['failed', { beforeOutput: 1, midStream: 0 }, ['before_output failed']],
    ['cancelled', { beforeOutput: 1, midStream: 0 }, ['before_output left']],
    ['completed', { beforeOutput: 1, midStream: 1 }, ['before_output recovered', 'mid_stream recovered']],
    ['interrupted', { beforeOutput: 0, midStream: 0 }, ['mid_stream failed']],
    ['interrupted', { beforeOutput: 1, midStream: 2 }, ['before_output recovered', 'mid_stream failed']],
    ['completed', { beforeOutput: 0, midStream: 0 }, []],
  ])('%s after %j count as failovers by phase and result', async (kind, failovers, expected) => {
    const metrics = begin();
    took(metrics, { kind: kind ?? 'completed' }, { failovers });
    const found = [
      ...(await metrics.render('prometheus')).matchAll(/weir_failovers_total\{.*phase="(\w+)",result="(\w+)"\} 1/g),
    ];
    expect(found.map(([, phase, result]) => `${phase} ${result}`)).toEqual(expected);
  });

  it('count hedges that won, and why endpoints were picked', async () => {
    const metrics = begin();
    metrics.attempt(route, { reason: 'hedge', step: 'endpoint', pick: 'holder' });
    for (const reason of ['first', 'hedge'] as const) metrics.won(route, reason);
    expect(await linesOf(metrics)).toEqual(
      containing(
        `weir_attempts_total{model="${model}",backend="vllm-a",reason="hedge",step="endpoint"} 1`,
        `weir_endpoint_picks_total{model="${model}",backend="vllm-a",why="holder"} 1`,
        `weir_hedges_won_total{model="${model}"} 1`,
      ),
    );
  });
});

describe('labels', () => {
  it('stay the same series with 10,000 keys, 10,000 addresses and 1,000 unknown model names', async () => {
    const metrics = begin();
    const codes = ['unauthenticated', 'model_not_found', 'rate_limited'] as const;
    const refuse = (name: string): void => {
      for (const code of codes) {
        const failure = new Failure(code, `no ${name}`, { limit: 'address-blocked' });
        metrics.ended(endOf(undefined, { requestId: name, correlationId: name, code, failure: failureFacts(failure) }));
      }
    };
    took(metrics);
    refuse('first');
    // Kinds of garbage collection appear when one has run, whatever the requests were.
    const ours = async () => (await linesOf(metrics)).filter((line) => !line.startsWith('nodejs_gc_')).length;
    const before = await ours();
    for (let count = 0; count < 10_000; count += 1) {
      took(metrics, { keyId: `key-${count}`, workspaceId: `ws-${count}`, requestId: `r-${count}` });
      refuse(`2001:db8::${count.toString(16)}`);
    }
    for (let count = 0; count < 1_000; count += 1) refuse(`unknown/model-${count}`);
    expect(await ours()).toBe(before);
  });

  it('of a model that has left the catalog are forgotten', async () => {
    let models: readonly string[] = ['a/a', 'b/b'];
    const metrics = begin({
      catalog: () => ({ models: new Map(models.map((id) => [id, id])), servedAt: 0, routes: [] }),
    });
    for (const modelId of models) took(metrics, { modelId });
    expect(await metrics.render('prometheus')).toContain('"b/b"');
    models = ['a/a'];
    const text = await metrics.render('prometheus');
    expect(text).toContain('"a/a"');
    expect(text).not.toContain('"b/b"');
  });

  it('of all names and of no model are documented', () => {
    const names = begin()
      .describe()
      .map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
    expect(names).toContain('weir_requests_total');
    expect(names).not.toContain('nodejs_active_handles_total');
  });
});

describe('the text', () => {
  it('has each HELP and TYPE once, and all values of a name together, however many models there are', async () => {
    const ids = ['a/a', 'b/b', 'c/c'];
    const metrics = begin(listed(...ids));
    for (const modelId of ids) took(metrics, { modelId });
    const headers = (await linesOf(metrics)).filter((line) => line.startsWith('# TYPE '));
    expect(headers).toEqual([...new Set(headers)]);
    const names = (await linesOf(metrics)).flatMap((line) => /^weir_cost_usd_total|^# TYPE/.exec(line)?.[0] ?? []);
    const first = names.indexOf('weir_cost_usd_total');
    expect(names.slice(first, first + 3)).toEqual(Array(3).fill('weir_cost_usd_total'));
  });

  it('is rendered in slices: other work has its turn while 200 models are rendered', async () => {
    const ids = Array.from({ length: 200 }, (_, index) => `org/model-${index}`);
    const metrics = begin(listed(...ids));
    for (const modelId of ids) took(metrics, { modelId });
    const { turns, stop } = countTurns();
    const text = await metrics.render('prometheus');
    stop();
    expect(text.split('\n').length).toBeGreaterThan(18_000);
    // A machine that renders it all in twelve milliseconds still gives others five turns.
    expect(turns()).toBeGreaterThan(5);
  });
});

describe('gauges', () => {
  it('show how busy the service itself is', async () => {
    const load = () => ({
      eventLoopDelayMs: 12.5,
      ownDelayMs: 0,
      memoryShare: 0.1,
      filesShare: 0,
      medianWaitMs: 0,
      queuedForMs: 0,
    });
    const metrics = begin({ load, edgeAdmitRatio: () => 0.25, inFlight: () => 3, streams: () => 4 });
    expect(await linesOf(metrics)).toEqual(
      containing(
        ...['weir_event_loop_delay_seconds 0.0125', 'weir_edge_admitted_ratio 0.25'],
        ...['weir_requests_in_flight 3', 'weir_ext_proc_streams 4'],
        ...['weir_thread_busy_seconds_total{thread="requests"} 0.5'],
        ...['weir_thread_memory_bytes{thread="requests",kind="heap"} 8'],
        ...['weir_data_disk_size_bytes 4000', 'weir_data_disk_free_bytes 1000', 'weir_build_info{version="1.2.3"} 1'],
      ),
    );
  });

  it('count the records that the log dropped, and none twice', async () => {
    let dropped = 2;
    const metrics = begin({ droppedLogRecords: () => dropped });
    expect(await metrics.render('prometheus')).toContain('\nweir_log_dropped_records_total 2\n');
    dropped = 5;
    expect(await metrics.render('prometheus')).toContain('\nweir_log_dropped_records_total 5\n');
  });

  it('show which models are listed and how available they are, as the catalog is now', async () => {
    const statuses = new Map([
      ['a/a', { listed: true, availability: 0.995 }],
      ['b/b', { listed: false }],
    ]);
    const metrics = begin({ modelStatuses: () => statuses });
    expect(await linesOf(metrics)).toEqual(
      containing(
        ...['weir_model_listed{model="a/a"} 1', 'weir_model_listed{model="b/b"} 0'],
        'weir_model_availability_ratio{model="a/a"} 0.995',
      ),
    );
    expect(await metrics.render('prometheus')).not.toContain('weir_model_availability_ratio{model="b/b"}');
    statuses.delete('a/a');
    expect(await metrics.render('prometheus')).not.toContain('model="a/a"');
  });

  it('show whether routes of embedding models make the same vectors, once they were probed', async () => {
    const metrics = begin({
      vectors: () => [
        { model: 'a/a', route: 'a/a@one', isSame: true, similarity: 0.9997 },
        { model: 'a/a', route: 'a/a@two', isSame: false, similarity: 0.5 },
        { model: 'a/a', route: 'a/a@three', isSame: false, similarity: undefined },
        { model: 'a/a', route: 'a/a@four', isSame: undefined, similarity: undefined },
      ],
    });
    expect(await linesOf(metrics)).toEqual(
      containing(
        ...['weir_route_same_vectors{model="a/a",route="a/a@one"} 1'],
        ...['weir_route_same_vectors{model="a/a",route="a/a@two"} 0'],
        ...['weir_route_same_vectors{model="a/a",route="a/a@three"} 0'],
        ...['weir_route_vector_similarity{model="a/a",route="a/a@one"} 0.9997'],
        'weir_route_vector_similarity{model="a/a",route="a/a@two"} 0.5',
      ),
    );
    const text = await metrics.render('prometheus');
    expect(text).not.toContain('a/a@four');
    expect(text).not.toContain('weir_route_vector_similarity{model="a/a",route="a/a@three"}');
  });

  it('show whether limits are shared, where there are other replicas', async () => {
    let sharing = { isShared: true, replicas: 3, late: 0 };
    const metrics = begin({ sharing: () => sharing, blockedAddresses: () => 2 });
    expect(await metrics.render('prometheus')).toMatch(/^weir_limits_shared 1$[^]*^weir_replicas 3$/m);
    sharing = { isShared: false, replicas: 3, late: 4 };
    expect(await metrics.render('prometheus')).toMatch(/^weir_limits_shared 0$[^]*^weir_limits_late_total 4$/m);
    expect(await metrics.render('prometheus')).toMatch(/^weir_blocked_addresses 2$/m);
    expect(await begin({ sharing: undefined }).render('prometheus')).not.toContain('weir_limits_shared');
  });

  it('show how the database stands, how much waits outside of it, and how long commits take', async () => {
    const here = idleFigures().store();
    let figures: StoreFigures = { ...here, waitingRows: 7, retentionDays: 30, upkeep: { doneAt: 9_000, failures: 1 } };
    const metrics = begin({ store: () => figures });
    metrics.committed({ into: 'database', rows: 12, durationMs: 2 });
    expect(await linesOf(metrics)).toEqual(
      containing(
        ...['weir_ledger_database{state="here"} 1', 'weir_ledger_database{state="away"} 0'],
        ...['weir_journal_bytes 0', 'weir_journal_limit_bytes 1000', 'weir_journal_has_room 1'],
        ...['weir_ledger_waiting_rows 7', 'weir_ledger_damaged 0', 'weir_ledger_retention_seconds 2592000'],
        ...['weir_ledger_upkeep_done_timestamp_seconds 9', 'weir_ledger_upkeep_failures_total 1'],
        ...['weir_ledger_rows_total{into="database"} 12'],
        'weir_ledger_commit_duration_seconds_bucket{le="0.0025",into="database"} 1',
      ),
    );
    figures = { ...here, database: 'down', journalBytes: 5_000, hasRoom: false, isDamaged: true };
    expect(await linesOf(metrics)).toEqual(
      containing(
        ...['weir_ledger_database{state="here"} 0', 'weir_ledger_database{state="away"} 1'],
        ...['weir_journal_bytes 5000', 'weir_journal_has_room 0', 'weir_ledger_damaged 1'],
      ),
    );
    const onServer = begin({ store: () => ({ ...here, isDamaged: undefined }) });
    expect(await onServer.render('prometheus')).not.toContain('weir_ledger_damaged');
  });

  it('show how the endpoints of each backend and the routes are, and forget a backend that is gone', async () => {
    let backends: readonly (readonly [string, EndpointCounts])[] = [
      ['vllm-a', { total: 8, healthy: 5, ejected: 1, unhealthy: 2 }],
      ['vllm-b', { total: 0, healthy: 0, ejected: 0, unhealthy: 0 }],
    ];
    const routes = [{ model, backend: 'vllm-a', weight: 0, isServing: false }];
    const metrics = begin({
      endpoints: () => Promise.resolve(backends),
      backendHealth: () => Promise.resolve(backends.map(([name]) => [name, 'Unknown'] as const)),
      catalog: () => ({ models: new Map(), servedAt: 0, routes }),
    });
    const lines = async () => (await linesOf(metrics)).filter((line) => line.startsWith('weir_endpoints{'));
    expect(await lines()).toEqual([
      ...['weir_endpoints{backend="vllm-a",state="healthy"} 5', 'weir_endpoints{backend="vllm-a",state="unhealthy"} 2'],
      ...['weir_endpoints{backend="vllm-a",state="ejected"} 1', 'weir_endpoints{backend="vllm-b",state="healthy"} 0'],
      ...['weir_endpoints{backend="vllm-b",state="unhealthy"} 0', 'weir_endpoints{backend="vllm-b",state="ejected"} 0'],
    ]);
    expect(await linesOf(metrics)).toEqual(
      containing(
        `weir_route_serving{model="${model}",backend="vllm-a"} 0`,
        `weir_route_weight{model="${model}",backend="vllm-a"} 0`,
        ...['True', 'False'].map((status) => `weir_backend_healthy{backend="vllm-a",status="${status}"} 0`),
        'weir_backend_healthy{backend="vllm-a",status="Unknown"} 1',
      ),
    );
    backends = [];
    expect(await lines()).toEqual([]);
  });

  it('show how old the catalog is and who leads, in a cluster alone, and how the talk with Envoy goes', async () => {
    let ageMs: number | undefined = undefined;
    const discovery = () => ({ streams: 1, unansweredMs: 1_500, refusals: 2 });
    const metrics = begin({ catalogAgeMs: () => ageMs, isLeading: () => true, discovery });
    expect(await metrics.render('prometheus')).toMatch(/^weir_catalog_age_seconds Nan$/m);
    ageMs = 1_500;
    expect(await linesOf(metrics)).toEqual(
      containing(
        ...['weir_catalog_age_seconds 1.5', 'weir_controller_leader 1', 'weir_catalog_models 1'],
        ...['weir_xds_streams 1', 'weir_xds_unanswered_seconds 1.5', 'weir_xds_refusals_total 2'],
      ),
    );
    const alone = begin({ catalogAgeMs: undefined, isLeading: undefined });
    expect(await alone.render('prometheus')).not.toMatch(/weir_catalog_age_seconds|weir_controller_leader/);
  });
});
