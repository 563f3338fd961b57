import { expect, it } from 'vitest';
import { createRouteRecorder } from './route-record.ts';

const fault = { kind: 'status', status: 500, detail: '' } as const;

it('counts the failures since the last answer, of one prompt too', () => {
  const recorder = createRouteRecorder();
  expect(recorder.record(0)).toEqual({ answeredAt: undefined, failing: undefined });
  for (let count = 0; count < 10; count += 1) recorder.failed(0, fault);
  expect(recorder.record(1)).toEqual({ answeredAt: undefined, failing: { at: 0, failures: 10, fault } });
  recorder.answered(2);
  expect(recorder.record(3)).toEqual({ answeredAt: 2, failing: undefined });
  recorder.failed(4, fault);
  expect(recorder.record(5)).toEqual({ answeredAt: 2, failing: { at: 4, failures: 1, fault } });
});

it('forgets after ten minutes', () => {
  const recorder = createRouteRecorder();
  recorder.answered(0);
  recorder.failed(0, fault);
  expect(recorder.record(600_000)).toEqual({ answeredAt: undefined, failing: undefined });
});
