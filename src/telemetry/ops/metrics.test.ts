import { expect, it } from 'vitest';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { Failure } from '../../core/failure.ts';
import { createMetrics } from './metrics.ts';
import type { EndpointFigures, StoreFigures } from './gauges.ts';

it('counts outcomes, refusals, faults and tokens, with labels from our own tables and the catalog alone', async () => {
  const metrics = createMetrics({ inFlight: () => 3, streams: () => 4 });
  metrics.outcome(sampleOutcome({ correlationId: 'CANARY', requestId: 'CANARY', keyId: 'CANARY' }));
  metrics.outcome(sampleOutcome({ kind: 'cancelled', stream: false }));
  metrics.refusal(new Failure('model_not_found', 'CANARY', { cause: new Error('CANARY') }));
  metrics.fault('qwen/qwen3-8b@vllm-a', { kind: 'status', detail: 'CANARY', status: 503 });
  const text = await metrics.render();
  expect(text.split('\n')).toEqual(
    expect.arrayContaining([
      'weir_requests_total{model="qwen/qwen3-8b",outcome="completed",stream="true"} 1',
      'weir_requests_total{model="qwen/qwen3-8b",outcome="cancelled",stream="false"} 1',
      'weir_refusals_total{code="model_not_found"} 1',
      'weir_attempt_faults_total{route="qwen/qwen3-8b@vllm-a",kind="status"} 1',
      'weir_tokens_total{model="qwen/qwen3-8b",direction="prompt"} 240',
      'weir_tokens_total{model="qwen/qwen3-8b",direction="completion"} 60',
      'weir_request_seconds_count{model="qwen/qwen3-8b"} 2',
      'weir_first_token_seconds_sum{model="qwen/qwen3-8b"} 0.024',
      'weir_requests_in_flight 3',
      'weir_ext_proc_streams 4',
    ]) as string[],
  );
  expect(text).not.toContain('CANARY');
  expect(metrics.contentType).toMatch(/^text\/plain/);
});

it('shows how busy the service itself is, and what it turned away for that', async () => {
  const load = () => ({ eventLoopDelayMs: 12.5, memoryShare: 0.1, medianWaitMs: 0, queuedForMs: 0 });
  const metrics = createMetrics({ inFlight: () => 0, streams: () => 0, load, edgeAdmitRatio: () => 0.25 });
  metrics.shed('queue');
  metrics.shed('queue');
  expect((await metrics.render()).split('\n')).toEqual(
    expect.arrayContaining([
      ...['weir_event_loop_delay_seconds 0.0125', 'weir_edge_opening 0.25', 'weir_shed_total{reason="queue"} 2'],
    ]) as string[],
  );
});

it('counts the records that the log dropped, and none twice', async () => {
  let dropped = 2;
  const metrics = createMetrics({ inFlight: () => 0, streams: () => 0, droppedLogRecords: () => dropped });
  expect(await metrics.render()).toContain('\nweir_log_dropped_total 2\n');
  dropped = 5;
  expect(await metrics.render()).toContain('\nweir_log_dropped_total 5\n');
});

it('measures no first token where none came', async () => {
  const metrics = createMetrics({ inFlight: () => 0, streams: () => 0 });
  const { firstTokenMs: _, ...outcome } = sampleOutcome({ kind: 'failed' });
  metrics.outcome(outcome);
  expect(await metrics.render()).not.toContain('weir_first_token_seconds_count{');
});

it('shows which models are listed and how available they are, as the catalog is now', async () => {
  const statuses = new Map([
    ['a/a', { listed: true, availability: 0.995 }],
    ['b/b', { listed: false }],
  ]);
  const metrics = createMetrics({ inFlight: () => 0, streams: () => 0, modelStatuses: () => statuses });
  expect((await metrics.render()).split('\n')).toEqual(
    expect.arrayContaining([
      ...['weir_model_listed{model="a/a"} 1', 'weir_model_listed{model="b/b"} 0'],
      'weir_model_availability{model="a/a"} 0.995',
    ]) as string[],
  );
  expect(await metrics.render()).not.toContain('weir_model_availability{model="b/b"}');
  statuses.delete('a/a');
  expect(await metrics.render()).not.toContain('model="a/a"');
});

it('shows whether limits are shared, where there is somebody to share them with', async () => {
  const gauges = { inFlight: () => 0, streams: () => 0 };
  let sharing = { isShared: true, replicas: 3, late: 0 };
  const metrics = createMetrics({ ...gauges, sharing: () => sharing, blockedAddresses: () => 2 });
  expect(await metrics.render()).toMatch(/^weir_limits_shared 1$[^]*^weir_replicas 3$/m);
  sharing = { isShared: false, replicas: 3, late: 4 };
  expect(await metrics.render()).toMatch(/^weir_limits_shared 0$[^]*^weir_limits_late_total 4$/m);
  expect(await metrics.render()).toMatch(/^weir_blocked_addresses 2$/m);
  expect(await createMetrics(gauges).render()).not.toContain('weir_limits_shared');
});

it('shows how the database stands and how much waits outside of it', async () => {
  const gauges = { inFlight: () => 0, streams: () => 0 };
  const here = { database: 'here', journalBytes: 0, hasRoom: true } as const;
  let figures: StoreFigures = { ...here, waitingRows: 7, isDamaged: false };
  const metrics = createMetrics({ ...gauges, store: () => figures });
  expect((await metrics.render()).split('\n')).toEqual(
    expect.arrayContaining([
      ...['weir_store_database{state="here"} 1', 'weir_store_database{state="away"} 0'],
      ...['weir_store_journal_bytes 0', 'weir_store_journal_has_room 1', 'weir_store_waiting_rows 7'],
      'weir_store_damaged 0',
    ]) as string[],
  );
  figures = { database: 'away', journalBytes: 5_000, hasRoom: false, waitingRows: 0, isDamaged: true };
  expect((await metrics.render()).split('\n')).toEqual(
    expect.arrayContaining([
      ...['weir_store_database{state="here"} 0', 'weir_store_database{state="away"} 1'],
      ...['weir_store_journal_bytes 5000', 'weir_store_journal_has_room 0', 'weir_store_waiting_rows 0'],
      'weir_store_damaged 1',
    ]) as string[],
  );
  const onServer = createMetrics({ ...gauges, store: () => ({ ...figures, isDamaged: undefined }) });
  expect(await onServer.render()).not.toContain('weir_store_damaged');
});

it('shows how the endpoints of each backend are, and forgets a backend that is gone', async () => {
  let backends: readonly (readonly [string, EndpointFigures])[] = [
    ['vllm-a', { total: 8, healthy: 5, ejected: 1 }],
    ['vllm-b', { total: 0, healthy: 0, ejected: 0 }],
  ];
  const metrics = createMetrics({ inFlight: () => 0, streams: () => 0, endpoints: () => Promise.resolve(backends) });
  const lines = async () => (await metrics.render()).split('\n').filter((line) => line.startsWith('weir_endpoints{'));
  expect(await lines()).toEqual([
    'weir_endpoints{backend="vllm-a",state="healthy"} 5',
    'weir_endpoints{backend="vllm-a",state="unhealthy"} 2',
    'weir_endpoints{backend="vllm-a",state="ejected"} 1',
    ...['healthy', 'unhealthy', 'ejected'].map((state) => `weir_endpoints{backend="vllm-b",state="${state}"} 0`),
  ]);
  backends = backends.slice(1);
  expect(await lines()).toHaveLength(3);
});

it('shows how old a catalog that is followed may be, and who tells the cluster of it', async () => {
  const gauges = { inFlight: () => 0, streams: () => 0 };
  let ageMs: number | undefined = undefined;
  const metrics = createMetrics({ ...gauges, catalogAgeMs: () => ageMs, isLeading: () => true });
  expect(await metrics.render()).toMatch(/^weir_catalog_age_seconds Nan$/im);
  ageMs = 31_500;
  expect(await metrics.render()).toMatch(/^weir_catalog_age_seconds 31\.5$[^]*^weir_controller_leader 1$/m);
  expect(await createMetrics(gauges).render()).not.toContain('weir_catalog_age_seconds');
});
