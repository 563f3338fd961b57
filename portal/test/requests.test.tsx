import { act, screen, within } from '@testing-library/react';
import { describe, expect, test } from 'vitest';
import type { ListedRequestObject, RequestDetailObject, RequestStoryObject } from '../../src/portal/api/requests.ts';
import { RequestSheet } from '../src/pages/request-sheet.tsx';
import { RequestsPage } from '../src/pages/requests.tsx';
import { emit } from './support/browser.ts';
import { keyObject, memberSession, now, requestObject } from './support/objects.ts';
import { type Answer, answerWith, json, list, refusal, silence } from './support/portal.ts';
import { show } from './support/show.tsx';

const ada = memberSession('member', ['requests:read']);

function showRequests(requests: Answer, at = '/requests') {
  const sent = answerWith({
    'GET /requests': requests,
    'GET /models': json({ services: [], data: [], next_cursor: null }),
    'GET /keys/key_1': json(keyObject()),
  });
  return { reader: show(<RequestsPage />, { as: ada, at }), sent };
}

const settled = (...some: readonly Partial<ListedRequestObject>[]): Answer => list(some.map(requestObject));
const shownIds = () =>
  screen.getAllByRole('rowheader').map((cell) => {
    const href = within(cell).getByRole('link').getAttribute('href') ?? '';
    return new URLSearchParams(href.split('?')[1]).get('request');
  });

describe('the list of requests', () => {
  test('is waited for', () => {
    showRequests(silence);
    expect(screen.getByRole('status', { name: 'Loading' })).toBeVisible();
    expect(screen.queryByRole('table')).toBeNull();
  });

  test.each([
    ['/requests', 'Requests appear here as soon as they end.'],
    ['/requests?outcome=failed', 'No request matches these filters.'],
    ['/requests?search=trace-9', /^No request has this id\. An x-request-id is searched in the last seven days/],
  ])('without requests at %s says why', async (at, words) => {
    showRequests(list([]), at);
    expect(await screen.findByText(words)).toBeVisible();
  });

  test('asks for exactly what the address says', async () => {
    const { sent } = showRequests(list([]), '/requests?outcome=failed&key=key_1&from=2026-07-01T00:00:00.000Z');
    await screen.findByText('No request matches these filters.');
    expect(sent.find(({ call }) => call === 'GET /requests')?.query).toEqual({
      ...{ workspace: 'acme', outcome: 'failed', key: 'key_1', from: '2026-07-01T00:00:00.000Z' },
    });
  });

  test('says in the row why a request failed or was refused', async () => {
    showRequests(
      settled(
        { id: 'chatcmpl-1', outcome: 'failed', reason: '502, every attempt failed, last fault: HTTP 500' },
        { id: 'chatcmpl-2', outcome: 'refused', reason: '401, no valid key', key: null, key_name: null, model: null },
        { id: 'chatcmpl-3', outcome: 'completed', key_name: null, first_token_ms: null },
      ),
    );
    const [failed, refused, completed] = (await screen.findAllByRole('row')).slice(1);
    expect(failed).toHaveTextContent('Failed502, every attempt failed, last fault: HTTP 500CI');
    expect(refused).toHaveTextContent('–Refused401, no valid keyNo valid key');
    expect(completed).toHaveTextContent('Completedkey_1');
  });

  test('shows a request when it ends, once, first, and only if it matches the filters', async () => {
    showRequests(settled({ id: 'chatcmpl-1' }), '/requests?outcome=completed');
    await screen.findByRole('table');
    const later = (second: number) => `2026-07-15T12:00:0${second}.000Z`;
    act(() => emit('request', requestObject({ id: 'chatcmpl-2', started_at: later(1) })));
    await expect.poll(shownIds).toEqual(['chatcmpl-2', 'chatcmpl-1']);
    act(() => {
      emit('request', requestObject({ id: 'chatcmpl-3', started_at: later(2), outcome: 'failed' }));
      emit('request', requestObject({ id: 'chatcmpl-4', started_at: later(3), workspace: 'other' }));
      emit('request', requestObject({ id: 'chatcmpl-1' }));
      emit('request', requestObject({ id: 'chatcmpl-5', started_at: later(4) }));
    });
    await expect.poll(shownIds).toEqual(['chatcmpl-5', 'chatcmpl-2', 'chatcmpl-1']);
  });

  test('hides columns and remembers them, but never the one that names the rows', async () => {
    const { reader } = showRequests(settled({}));
    await reader.click(await screen.findByText('Columns'));
    const choice = within(await screen.findByRole('group', { name: 'Shown columns' }));
    expect(choice.queryByLabelText('Started')).toBeNull();
    await reader.click(choice.getByLabelText('Workspace'));
    expect(screen.queryByRole('columnheader', { name: 'Workspace' })).toBeNull();
    expect(screen.getByRole('columnheader', { name: 'Started' })).toBeVisible();
    expect(localStorage.getItem('columns.requests')).toBe('Workspace');
  });
});

type Attempt = NonNullable<RequestStoryObject['attempts']>[number];

function attempt(given: Partial<Attempt> = {}): Attempt {
  return {
    ...{ route: 'route 1', backend: null, endpoint: null, reason: 'first', step: 'first', pick: null },
    ...{ began_ms: 4, first_output_ms: 94, ended_ms: 700, end: 'complete', fault: null, output_tokens: 30 },
    why_failed: null,
    ...given,
  };
}

function story(given: Partial<RequestStoryObject> = {}): RequestStoryObject {
  return {
    ...{ id: 'chatcmpl-1', correlation_id: 'trace-1', source: 'service', workspace: 'ws_1', key: 'key_1' },
    ...{ model: 'qwen/qwen3-8b', surface: 'chat', stream: true, started_at: now, first_output_ms: 94 },
    ...{ duration_ms: 700, outcome: 'completed', failure: null, refused_for: null, route: 'route 1' },
    ...{ attempt_count: 1, hedge_count: 0, failover_count: 0, resume_count: 0, waits: null, plan: null },
    ...{ attempts: [attempt()], searches: null, bill: null, refused_in_minute: null, why: null, action: null },
    ...given,
  };
}

const bill = (given: Partial<ListedRequestObject> = {}) => requestObject(given) as RequestDetailObject['request'];

function showRequest(answer: Answer) {
  answerWith({ 'GET /requests/chatcmpl-1': answer });
  show(<RequestSheet id="chatcmpl-1" place={undefined} onClose={() => {}} />, { as: ada });
}

const detail = (given: Partial<RequestDetailObject>): Answer =>
  json({ request: null, story: null, matches: [], ...given });

/** The value beside a name in a list of facts. */
const fact = async (name: string) => (await screen.findByText(name, { selector: 'dt' })).nextElementSibling;

describe('one request', () => {
  test('is waited for', () => {
    showRequest(silence);
    const sheet = within(screen.getByRole('dialog', { name: 'Request' }));
    expect(sheet.getByRole('status', { name: 'Loading' })).toBeVisible();
    expect(sheet.queryByRole('button', { name: 'Next' })).toBeNull();
  });

  test('that was answered says so first, and has its ids in one column to copy', async () => {
    showRequest(detail({ request: bill(), story: story() }));
    expect(await screen.findByText(/^after 700 ms|after 700 ms, first output/)).toHaveTextContent(
      'Completed after 700 ms, first output after 94 ms.',
    );
    expect(screen.queryByText('What to do:')).toBeNull();
    for (const id of ['request id', 'x-request-id', 'key id']) {
      expect(screen.getByRole('button', { name: `Copy ${id}` })).toBeEnabled();
    }
    // Nothing is said twice.
    for (const once of ['chatcmpl-1', 'key_1', 'Completed', /first output after/, 'qwen/qwen3-8b']) {
      expect(screen.getAllByText(once)).toHaveLength(1);
    }
  });

  test('that failed says why and what to do, and why each attempt failed', async () => {
    const failed = { end: 'failed', first_output_ms: null, why_failed: 'HTTP 500' } as const;
    showRequest(
      detail({
        request: bill({ outcome: 'failed', cost: '0', prompt_tokens: 0, completion_tokens: 0, first_token_ms: null }),
        story: story({
          ...{ outcome: 'failed', why: '502, every attempt failed, last fault: HTTP 500', first_output_ms: null },
          action: 'Send it again: nothing was billed',
          failure: { code: 'attempts_failed', status: 502, about: [], limit: null },
          attempts: [
            attempt({ ...failed, ended_ms: 10 }),
            attempt({ ...failed, ended_ms: 20, reason: 'failover', backend: 'gpu', why_failed: 'connection refused' }),
          ],
        }),
      }),
    );
    const verdict = await screen.findByRole('alert');
    expect(verdict).toHaveTextContent('Failed after 700 ms: 502, every attempt failed, last fault: HTTP 500.');
    expect(verdict).toHaveTextContent('What to do: Send it again: nothing was billed.');
    expect(await fact('Code')).toHaveTextContent('attempts_failed');
    const [first, second] = within(screen.getByRole('region', { name: 'Attempts' })).getAllByRole('listitem');
    expect(first).toHaveTextContent('Sent at 4 ms, no output, failed: HTTP 500 at 10 ms.');
    expect(second).toHaveTextContent(/^Failover.*failed: connection refused at 20 ms\.$/);
    expect(screen.getByRole('link', { name: 'Backend gpu' })).toHaveAttribute('href', '/backends?backend=gpu');
    // No engine has counted, so the bill names no one who did.
    expect(screen.queryByText('Counted by')).toBeNull();
  });

  test('names the planned routes that were not needed', async () => {
    const route = { state: 'available', chance: 1, success: 1, validity: 1, in_flight: 0, capacity: null } as const;
    const routes = ['route 1', 'spare'].map((name) => ({ ...route, route: name, expected_first_output_ms: null }));
    showRequest(detail({ story: story({ plan: { first: null, routes, left_out: [] } }) }));
    expect(await screen.findByText('Planned, and not needed: spare.')).toBeVisible();
  });

  test('that was refused has no bill and says why', async () => {
    const why = '402, balance or budget used up, limit: budget of the key';
    const failed = {
      code: 'insufficient_funds',
      status: 402,
      about: [],
      limit: 'budget',
    } satisfies RequestStoryObject['failure'];
    const unknown = { attempts: [], model: null, key: null, refused_in_minute: 7 };
    showRequest(detail({ story: story({ outcome: 'refused', why, failure: failed, ...unknown }) }));
    expect(await screen.findByText('Nothing was billed.')).toBeVisible();
    expect(screen.getByText(/balance or budget used up/)).toBeVisible();
    expect(screen.getByText('The request was not sent to a route.')).toBeVisible();
    expect(await fact('Key')).toHaveTextContent('no valid key');
    expect(await fact('Model')).toHaveTextContent('none of the catalog');
    expect(await fact('Limit')).toHaveTextContent('budget');
    expect(await fact('Refused like it in that minute')).toHaveTextContent('7');
  });

  test('that is in flight shows its attempts so far', async () => {
    const running = attempt({ end: null, ended_ms: null });
    showRequest(detail({ story: story({ outcome: null, duration_ms: null, attempts: [running] }) }));
    expect(await screen.findByText(/Sent at 4 ms, first output at 94 ms, in flight\./)).toBeVisible();
    expect(screen.getByText('The bill comes when it ends.')).toBeVisible();
  });

  test('that no service remembers has its bill alone', async () => {
    showRequest(detail({ request: bill({ cost: '0.000000012345', reasoning_tokens: null }) }));
    expect(
      await screen.findByText(/^The attempts of a request that did not fail are known for the last thousand/),
    ).toBeVisible();
    expect(await fact('Cost')).toHaveTextContent('$0.000000012345');
    expect(await fact('of them reasoning')).toHaveTextContent('–');
    expect(screen.getByRole('link', { name: 'CI' })).toHaveAttribute('href', '/keys?workspace=acme&search=key_1');
  });

  test('of an x-request-id with several requests links to each of them', async () => {
    const match = { id: 'chatcmpl-1', started_at: now, model: 'qwen/qwen3-8b', outcome: 'completed' } as const;
    showRequest(detail({ request: bill(), matches: [match, { ...match, id: 'chatcmpl-0', outcome: null }] }));
    const matches = within(await screen.findByRole('region', { name: 'Requests with this x-request-id' }));
    expect(matches.getByText(/^2 requests were sent with this x-request-id\./)).toBeVisible();
    expect(matches.getAllByRole('listitem')[1]).toHaveTextContent(/in flight$/);
    expect(matches.getAllByRole('link')[1]).toHaveAttribute('href', '/requests?request=chatcmpl-0');
  });

  test('that does not exist is an alert', async () => {
    showRequest(refusal(404, 'There is no such request.'));
    expect(await screen.findByRole('alert')).toHaveTextContent('There is no such request.');
  });

  test('of the list opens beside it by its address, and the arrow keys move to its neighbours', async () => {
    const some = ['chatcmpl-3', 'chatcmpl-2', 'chatcmpl-1'].map((id, index) =>
      requestObject({ id, started_at: new Date(Date.parse(now) - index * 1_000).toISOString() }),
    );
    answerWith({
      'GET /requests': list(some),
      'GET /models': json({ services: [], data: [], next_cursor: null }),
      ...Object.fromEntries(
        some.map((one) => [
          `GET /requests/${one.id}`,
          detail({ request: bill(one), story: story({ id: one.id, attempts: [] }) }),
        ]),
      ),
    });
    const reader = show(<RequestsPage />, { as: ada, at: '/requests?request=chatcmpl-2' });
    const sheet = within(await screen.findByRole('dialog', { name: 'Request' }));
    expect(await sheet.findByText('2 of 3')).toBeVisible();
    await reader.keyboard('{ArrowRight}');
    expect(await sheet.findByText('chatcmpl-1')).toBeVisible();
    expect(new URLSearchParams(location.search).get('request')).toBe('chatcmpl-1');
    await reader.keyboard('{Escape}');
    await expect.poll(() => location.search).toBe('');
    expect(screen.queryByRole('dialog')).toBeNull();
  });
});
