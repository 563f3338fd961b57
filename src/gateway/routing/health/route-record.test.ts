import { expect, it } from 'vitest';
import { createRouteRecorder } from './route-record.ts';

const fault = { kind: 'status', status: 500, detail: '' } as const;

it('counts the failures since the last answer, of one prompt too', () => {
  const recorder = createRouteRecorder();
  expect(recorder.record()).toEqual({
    answeredAt: undefined,
    failing: undefined,
    refusal: undefined,
    triedAt: undefined,
  });
  for (let count = 0; count < 10; count += 1) recorder.failed(count, fault);
  expect(recorder.record()).toEqual({
    ...{ answeredAt: undefined, refusal: undefined, triedAt: 9 },
    failing: { since: 0, at: 9, failures: 10, fault },
  });
  recorder.answered(12);
  expect(recorder.record()).toEqual({ answeredAt: 12, failing: undefined, refusal: undefined, triedAt: 12 });
  recorder.failed(14, fault);
  recorder.tried(15);
  expect(recorder.record()).toEqual({
    ...{ answeredAt: 12, refusal: undefined, triedAt: 15 },
    failing: { since: 14, at: 14, failures: 1, fault },
  });
});

it('forgets failures only when their fault is over', () => {
  const recorder = createRouteRecorder();
  recorder.failed(0, fault);
  recorder.recovered(({ status }) => status !== 500);
  expect(recorder.record().failing).toMatchObject({ failures: 1 });
  recorder.recovered(({ status }) => status === 500);
  expect(recorder.record()).toEqual({ answeredAt: undefined, failing: undefined, refusal: undefined, triedAt: 0 });
});

it('remembers why a request found no room until one is answered', () => {
  const recorder = createRouteRecorder();
  const full = { kind: 'status', status: 429, detail: '' } as const;
  recorder.refused(1, full);
  expect(recorder.record()).toEqual({ answeredAt: undefined, failing: undefined, refusal: full, triedAt: 1 });
  recorder.recovered(({ status }) => status === 500);
  expect(recorder.record().refusal).toBe(full);
  recorder.answered(2);
  expect(recorder.record().refusal).toBeUndefined();
  recorder.refused(3, full);
  recorder.recovered(({ status }) => status === 429);
  expect(recorder.record().refusal).toBeUndefined();
});
