import { expect, it } from 'vitest';
import { sampleStory } from '../../../test/support/sample-story.ts';
import type { Cause } from '../../core/cause.ts';
import type { FailureCode } from '../../core/failure.ts';
import { actionOf } from './request-action.ts';
import type { Story } from './story.ts';

const [attempt] = sampleStory().attempts ?? [];
if (attempt === undefined) throw new Error('the sample has no attempt');

const failedBy = (cause: Cause | null): Story['attempts'] => [
  {
    ...{ ...attempt, backend: 'gpu-a', end: 'failed' },
    fault: { kind: 'status', status: 500, engine_error: null, about: null, envoy_flags: null, cause },
  },
];
const failure = (code: FailureCode, status: number) => ({ code, status, about: [], limit: null });

it.each<{ readonly story: Partial<Story>; readonly admin: string | undefined; readonly member: string | undefined }>([
  { story: {}, admin: undefined, member: undefined },
  { story: { outcome: 'cancelled' }, admin: undefined, member: undefined },
  { story: { outcome: null, failure: null }, admin: undefined, member: undefined },
  {
    story: { outcome: 'refused', failure: failure('insufficient_funds', 402), attempts: [] },
    admin: 'Add credit to the workspace, or raise the key budget',
    member: 'Add credit to the workspace, or raise the key budget',
  },
  {
    // Who can repair the engine reads how, and others that a retry is safe.
    story: { outcome: 'failed', failure: failure('attempts_failed', 502), attempts: failedBy('credential-refused') },
    admin: 'Backend gpu-a: Correct the key in the Backend’s Secret',
    member: 'Send it again: nothing was billed',
  },
  {
    // Nobody can do anything about the cause.
    story: { outcome: 'failed', failure: failure('attempts_failed', 502), attempts: failedBy('content-policy') },
    admin: 'Send it again: nothing was billed',
    member: 'Send it again: nothing was billed',
  },
  {
    // The engine refused what the caller asked for, so the caller's request is to be changed.
    story: {
      ...{ outcome: 'refused', failure: failure('context_length_exceeded', 400) },
      attempts: failedBy('context-length'),
    },
    admin: 'Shorten the prompt, lower the output cap, or choose a model with a longer context',
    member: 'Shorten the prompt, lower the output cap, or choose a model with a longer context',
  },
  {
    story: { outcome: 'service-lost', failure: null, attempts: null },
    admin: 'Send it again: the gateway lost it',
    member: 'Send it again: the gateway lost it',
  },
  { story: { outcome: 'failed', failure: null, attempts: null }, admin: undefined, member: undefined },
])('says what to do: %o', ({ story, admin, member }) => {
  const whole = { ...sampleStory(), ...story };
  expect(actionOf(whole, 'admin')).toBe(admin);
  expect(actionOf(whole, 'member')).toBe(member);
});
