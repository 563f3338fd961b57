import { expect, it } from 'vitest';
import { createRouteRecorder } from './route-record.ts';

const fault = { kind: 'status', status: 500, detail: '' } as const;

it('ten failures in a row say that a route fails, of one prompt too; an answer between them says that it does not', () => {
  const recorder = createRouteRecorder();
  expect(recorder.record(0)).toEqual({ kind: 'untried' });
  for (let count = 0; count < 9; count += 1) recorder.failed(0, fault);
  expect(recorder.record(0)).toEqual({ kind: 'untried' });
  recorder.failed(0, fault);
  expect(recorder.record(1)).toEqual({ kind: 'fails', fault });
  recorder.answered(2);
  expect(recorder.record(3)).toEqual({ kind: 'answers' });
  for (let count = 0; count < 9; count += 1) recorder.failed(4, fault);
  expect(recorder.record(5)).toEqual({ kind: 'answers' });
});

it('forgets after ten minutes', () => {
  const recorder = createRouteRecorder();
  for (let count = 0; count < 10; count += 1) recorder.failed(0, fault);
  expect(recorder.record(600_000)).toEqual({ kind: 'untried' });
});
