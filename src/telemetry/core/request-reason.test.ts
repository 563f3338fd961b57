import { expect, it } from 'vitest';
import { sampleStory } from '../../../test/support/sample-story.ts';
import { faultName } from '../../core/event.ts';
import { reasonOf, reasonOfRow } from './request-reason.ts';
import type { Story } from './story.ts';

const [attempt] = sampleStory().attempts ?? [];
if (attempt === undefined) throw new Error('the sample has no attempt');

type Fault = NonNullable<typeof attempt.fault>;
const failedWith = (fault: Partial<Fault>): NonNullable<Story['attempts']>[number] => ({
  ...{ ...attempt, end: 'failed' },
  fault: { kind: 'status', status: null, engine_error: null, about: null, envoy_flags: null, cause: null, ...fault },
});
const unsent: Partial<Story> = { attempts: [], attempt_count: 0 };

it.each<{ readonly story: Partial<Story>; readonly admin: string | undefined; readonly member: string | undefined }>([
  { story: {}, admin: undefined, member: undefined },
  { story: { outcome: 'cancelled' }, admin: undefined, member: undefined },
  { story: { outcome: null, failure: null }, admin: undefined, member: undefined },
  {
    story: { ...unsent, outcome: 'refused', failure: { code: 'rate_limited', status: 429, about: [], limit: null } },
    ...{ admin: '429, too many requests', member: '429, too many requests' },
  },
  {
    story: {
      ...unsent,
      ...{ outcome: 'refused', failure: { code: 'rate_limited', status: 429, about: [], limit: 'workspace-tokens' } },
    },
    admin: '429, too many requests, limit: tokens a minute of the workspace',
    member: '429, too many requests, limit: tokens a minute of the workspace',
  },
  {
    story: {
      ...unsent,
      ...{ outcome: 'refused', failure: { code: 'overloaded', status: 503, about: [], limit: 'event-loop' } },
    },
    admin: '503, overloaded, limit: event loop delay of the service',
    member: '503, overloaded',
  },
  {
    story: {
      ...unsent,
      outcome: 'refused',
      failure: { code: 'tools_not_supported', status: 400, about: ['tools'], limit: null },
    },
    ...{ admin: '400, tools not supported, about tools', member: '400, tools not supported, about tools' },
  },
  {
    story: {
      ...{ outcome: 'failed', failure: { code: 'no_capacity', status: 503, about: [], limit: null } },
      attempts: [failedWith({ kind: 'connect', envoy_flags: 'UH' })],
    },
    admin: '503, no route had room, last fault: no endpoint passes its health check',
    member: '503, no route had room, last fault: connect',
  },
  {
    story: {
      ...{ outcome: 'failed', failure: { code: 'attempts_failed', status: 502, about: [], limit: null } },
      attempts: [failedWith({ status: 401, engine_error: 'account', cause: 'credential-refused' })],
    },
    admin: '502, every attempt failed, last fault: it refuses the credential (HTTP 401)',
    member: '502, every attempt failed, last fault: HTTP 401',
  },
  {
    story: {
      ...{ outcome: 'interrupted', failure: { code: 'stream_interrupted', status: 200, about: [], limit: null } },
      attempts: [failedWith({ status: 500 }), failedWith({ kind: 'reset' }), attempt],
    },
    ...{ admin: 'the answer broke off, last fault: reset', member: 'the answer broke off, last fault: reset' },
  },
  {
    story: {
      ...{ outcome: 'failed', refused_for: 'overloaded' },
      ...{ failure: { code: 'attempts_failed', status: 502, about: [], limit: null }, attempts: [] },
    },
    ...{ admin: '502, every attempt failed, the routes said: overloaded', member: '502, every attempt failed' },
  },
])('the reason of $story.outcome is $admin', ({ story, admin, member }) => {
  expect(reasonOf(sampleStory(story), 'admin')).toBe(admin);
  expect(reasonOf(sampleStory(story), 'member')).toBe(member);
});

it.each([
  [{ kind: 'status', status: 503 }, 'last fault: HTTP 503'],
  [{ kind: 'engine-error', status: 200 }, 'last fault: engine error, HTTP 200'],
  [{ kind: 'content-type', status: 200 }, 'last fault: content type, HTTP 200'],
  [{ kind: 'stalled' }, 'last fault: stalled'],
] as const)('the fault %j is read from a row', (fault, reason) => {
  expect(reasonOfRow({ kind: 'failed', modelId: 'm', fault: faultName(fault) }, 'admin')).toBe(reason);
});

it.each([
  [
    'admin',
    '502, every attempt failed, the routes said: repeated failure, last fault: HTTP 500, the engine reports other',
  ],
  ['member', '502, every attempt failed, last fault: HTTP 500'],
] as const)('the error and the attempts of a row are its reason for a %s', (reader, reason) => {
  const log = '001 a 10.0.0.1:80 2 - 15 connect; 121 b 10.0.0.2:80 16 - 20 status/500/other';
  const row = { fault: 'status 500', failure: 'attempts_failed repeated-failure', attemptLog: log };
  expect(reasonOfRow({ kind: 'failed', modelId: 'm', ...row }, reader)).toBe(reason);
});
