import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { asBrowser, call, memberOf, samplePortal } from '../../test/support/sample-portal.ts';
import { sampleProblem, sampleReport } from '../../test/support/sample-problem.ts';
import type { ProblemReport } from '../control/core/problem.ts';
import { watchDependencies } from '../core/dependency-cause.ts';
import { createOwnProblems, createProblemList } from './problem-list.ts';
import type { Answers } from './services.ts';

const first = 'http://10.0.0.1:9090';
const second = 'http://10.0.0.2:9090';

function answers(reports: Readonly<Record<string, ProblemReport | string>>): Answers<ProblemReport> {
  const all = Object.entries(reports);
  return {
    services: all.map(([service, said]) => ({
      ...{ service, answers: typeof said !== 'string', problem: typeof said === 'string' ? said : null },
    })),
    data: all.flatMap(([service, said]) => (typeof said === 'string' ? [] : [{ service, said }])),
  };
}

describe('the list of problems of all services', () => {
  it('has a service that does not answer first, for as long as it does not', async () => {
    const clock = createFakeClock(Date.parse('2026-07-01T12:00:00Z'));
    let said = answers({ [first]: sampleReport([sampleProblem()]), [second]: 'nothing listens' });
    const list = createProblemList({ problems: async () => said }, clock);
    const objects = async () => (await list()).problems.map(({ object, since }) => [object, since]);
    const silent = ['service/10.0.0.2:9090', '2026-07-01T12:00:00.000Z'];
    expect(await objects()).toEqual([silent, ['Backend/vllm-a', '2026-07-01T12:00:00.000Z']]);
    clock.advance(60_000);
    expect((await objects())[0]).toEqual(silent);
    said = answers({ [first]: sampleReport(), [second]: sampleReport() });
    clock.advance(1_000);
    expect(await objects()).toEqual([]);
    said = answers({ [first]: sampleReport(), [second]: 'nothing listens' });
    clock.advance(1_000);
    expect(await objects()).toEqual([['service/10.0.0.2:9090', '2026-07-01T12:01:02.000Z']]);
  });

  it('reports a problem where no service is known', async () => {
    const list = createProblemList({ problems: async () => answers({}) }, createFakeClock());
    expect((await list()).problems).toMatchObject([{ object: 'service', kind: 'service-silent' }]);
  });

  it('has the problems of the portal too, until something succeeds', async () => {
    const clock = createFakeClock(Date.parse('2026-07-01T12:00:00Z'));
    const watch = watchDependencies();
    const { failed, succeeded } = watch.of('identity-provider');
    const said = answers({ [first]: sampleReport() });
    const list = createProblemList({ problems: async () => said }, clock, createOwnProblems(watch, clock));
    failed({ cause: 'no-such-host', reason: 'getaddrinfo ENOTFOUND id.example' });
    await list();
    clock.advance(5_000);
    expect((await list()).problems).toEqual([
      {
        ...{ id: 'dependency-failing identity-provider', object: 'identity-provider', kind: 'dependency-failing' },
        ...{ model: null, cause: 'no-such-host', since: '2026-07-01T12:00:00.000Z' },
        problem:
          'Has a host name that DNS cannot resolve (getaddrinfo ENOTFOUND id.example): nobody can sign in with it.',
        action: 'Correct the host in WEIR_OIDC_ISSUER, or the gateway’s DNS: docs/how-to/portal.md#with-openid-connect',
      },
    ]);
    succeeded();
    clock.advance(5_000);
    expect((await list()).problems).toEqual([]);
  });

  it('is read once a second, for any number of callers', async () => {
    const clock = createFakeClock();
    let asked = 0;
    const list = createProblemList(
      { problems: async () => ((asked += 1), answers({ [first]: sampleReport() })) },
      clock,
    );
    await Promise.all([list(), list(), list()]);
    expect(asked).toBe(1);
    clock.advance(1_000);
    await list();
    expect(asked).toBe(2);
  });
});

describe('GET /problems', () => {
  const served = sampleProblem({ object: 'Model/m', kind: 'model-not-served', model: 'org/m' });

  it('has all of them for an admin, with what to do', async () => {
    const { server } = await samplePortal({ problems: answers({ [first]: sampleReport([sampleProblem(), served]) }) });
    expect(await call(server, { url: '/api/v1/problems' })).toMatchObject({
      status: 200,
      body: {
        services: [{ service: first, answers: true, problem: null }],
        data: [served, sampleProblem()],
        next_cursor: null,
      },
    });
  });

  it('is not for members: their events name only the models concerned', async () => {
    const sample = await samplePortal({ problems: answers({ [first]: sampleReport([sampleProblem(), served]) }) });
    const member = asBrowser(await memberOf(sample, sample.workspace.id));
    expect((await sample.server.inject({ url: '/api/v1/problems', headers: member })).statusCode).toBe(403);
    const reply = await sample.server.inject({ url: '/api/v1/events', headers: member, payloadAsStream: true });
    let text = '';
    reply
      .stream()
      .setEncoding('utf8')
      .on('data', (piece: string) => (text += piece));
    await expect.poll(() => text).toContain('event: health');
    reply.stream().destroy();
    const [, data = ''] = /event: health\ndata: (.*)\n/.exec(text) ?? [];
    expect(JSON.parse(data)).toMatchObject({
      problems: [{ object: 'Model/org/m', problem: 'It is not served as it should be.', since: served.since }],
    });
    expect(text).not.toMatch(/vllm-a|runbooks|10\.0\.0\.1/);
  });
});
