import { useQuery } from '@tanstack/react-query';
import { screen } from '@testing-library/react';
import { useState } from 'react';
import { describe, expect, test, vi } from 'vitest';
import { call, type Page } from '../src/data/api.ts';
import { useList } from '../src/data/calls.ts';
import { Button } from '../src/parts/button.tsx';
import { CommittedField } from '../src/parts/committed-field.tsx';
import { Confirm } from '../src/parts/dialog.tsx';
import { Download } from '../src/parts/download.tsx';
import { More } from '../src/parts/more.tsx';
import { Loaded } from '../src/parts/states.tsx';
import { Table } from '../src/parts/table.tsx';
import { type Answer, answerWith, json, list, refusal, silence } from './support/portal.ts';
import { show } from './support/show.tsx';

function Thing() {
  const query = useQuery({ queryKey: ['thing'], queryFn: () => call<{ readonly name: string }>('/thing') });
  return <Loaded query={query}>{({ name }) => <p>The thing is {name}.</p>}</Loaded>;
}

/** Answers the first requests by turns, and the last answer from then on. */
function inTurn(...answers: readonly Answer[]): Answer {
  const left = [...answers];
  return (sent) => {
    const answer = left.length > 1 ? left.shift() : left[0];
    if (answer === undefined) throw new Error('an answer is needed');
    return answer(sent);
  };
}

describe('data of the portal', () => {
  test('is waited for', () => {
    answerWith({ 'GET /thing': silence });
    show(<Thing />);
    expect(screen.getByRole('status', { name: 'Loading' })).toBeVisible();
  });

  test('that could not be read is an alert with a second try', async () => {
    answerWith({ 'GET /thing': inTurn(refusal(503, 'The database does not answer.'), json({ name: 'there' })) });
    const reader = show(<Thing />);
    expect(await screen.findByRole('alert')).toHaveTextContent('The database does not answer.');
    await reader.click(screen.getByRole('button', { name: 'Try again' }));
    expect(await screen.findByText('The thing is there.')).toBeVisible();
    expect(screen.queryByRole('alert')).toBeNull();
  });

  test('that the reader may not see has no second try', async () => {
    answerWith({ 'GET /thing': refusal(403, 'Only owners may.') });
    show(<Thing />);
    expect(await screen.findByRole('alert')).toHaveTextContent('You may not see this. Only owners may.');
    expect(screen.queryByRole('button')).toBeNull();
  });

  test('of a portal that is not reached says so', async () => {
    answerWith({ 'GET /thing': () => Promise.reject(new TypeError('Failed to fetch')) });
    show(<Thing />);
    expect(await screen.findByRole('alert')).toHaveTextContent('The portal cannot be reached. Is it still running?');
  });

  test('of a proxy that answers with a page of HTML is an error with the status', async () => {
    answerWith({
      'GET /thing': () => new Response('<h1>Bad gateway</h1>', { status: 502, statusText: 'Bad Gateway' }),
    });
    show(<Thing />);
    expect(await screen.findByRole('alert')).toHaveTextContent('The portal answered 502 Bad Gateway');
  });
});

function Letters() {
  const letters = useList<string>(['letters'], '/letters');
  return (
    <>
      <Loaded query={letters}>{(all) => <p>{all.join(' ')}</p>}</Loaded>
      <More list={letters} />
    </>
  );
}

test('a list of many pages has a button for the next page, until the last one', async () => {
  const pages: Readonly<Record<string, Page<string>>> = {
    '': { data: ['a', 'b'], next_cursor: 'after-b' },
    'after-b': { data: ['c'], next_cursor: null },
  };
  answerWith({ 'GET /letters': ({ query }) => Response.json(pages[query['cursor'] ?? '']) });
  const reader = show(<Letters />);
  expect(await screen.findByText('a b')).toBeVisible();
  await reader.click(screen.getByRole('button', { name: 'Show more' }));
  expect(await screen.findByText('a b c')).toBeVisible();
  expect(screen.queryByRole('button')).toBeNull();
});

test('a list of one page has no such button', async () => {
  answerWith({ 'GET /letters': list(['a']) });
  show(<Letters />);
  expect(await screen.findByText('a')).toBeVisible();
  expect(screen.queryByRole('button')).toBeNull();
});

function Asking({ onConfirm }: { readonly onConfirm: () => Promise<void> }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onPress={() => setOpen(true)}>Remove</Button>
      {isOpen && (
        <Confirm title="Remove it?" action="Yes" onClose={() => setOpen(false)} onConfirm={onConfirm}>
          <p>It cannot be undone.</p>
        </Confirm>
      )}
    </>
  );
}

describe('a question before an action', () => {
  test('begins at Cancel, keeps the focus inside, and Escape returns it', async () => {
    const onConfirm = vi.fn<() => Promise<void>>();
    const reader = show(<Asking onConfirm={onConfirm} />);
    const button = screen.getByRole('button', { name: 'Remove' });
    await reader.click(button);
    expect(screen.getByRole('alertdialog', { name: 'Remove it?' })).toBeVisible();
    const [cancel, yes] = ['Cancel', 'Yes'].map((name) => screen.getByRole('button', { name }));
    expect(cancel).toHaveFocus();
    await reader.tab();
    expect(yes).toHaveFocus();
    await reader.tab();
    expect(cancel).toHaveFocus();
    await reader.keyboard('{Escape}');
    expect(screen.queryByRole('alertdialog')).toBeNull();
    await expect.poll(() => document.activeElement).toBe(button);
    expect(onConfirm).not.toHaveBeenCalled();
  });

  test('stays open with the reason when the action fails, and closes when it succeeds', async () => {
    const onConfirm = vi
      .fn<() => Promise<void>>()
      .mockRejectedValueOnce(new Error('It is in use.'))
      .mockResolvedValue();
    const reader = show(<Asking onConfirm={onConfirm} />);
    await reader.click(screen.getByRole('button', { name: 'Remove' }));
    await reader.click(screen.getByRole('button', { name: 'Yes' }));
    expect(await screen.findByRole('alert')).toHaveTextContent('It is in use.');
    await reader.click(screen.getByRole('button', { name: 'Yes' }));
    await expect.poll(() => screen.queryByRole('alertdialog')).toBeNull();
    expect(onConfirm).toHaveBeenCalledTimes(2);
  });

  test('cannot be answered twice', async () => {
    const reader = show(<Asking onConfirm={() => Promise.withResolvers<void>().promise} />);
    await reader.click(screen.getByRole('button', { name: 'Remove' }));
    await reader.click(screen.getByRole('button', { name: 'Yes' }));
    expect(screen.getByRole('button', { name: 'Yes' })).toBeDisabled();
  });
});

describe('a field that asks the portal', () => {
  function showField(value = '') {
    const onCommit = vi.fn<(text: string) => void>();
    const reader = show(<CommittedField label="Search" type="search" value={value} onCommit={onCommit} />);
    return { reader, onCommit, input: screen.getByLabelText('Search') };
  }

  test('asks on Enter and not with each letter', async () => {
    const { reader, onCommit, input } = showField();
    await reader.type(input, ' ci ');
    expect(onCommit).not.toHaveBeenCalled();
    await reader.keyboard('{Enter}');
    expect(onCommit.mock.calls).toEqual([['ci']]);
  });

  test('asks when it is left, but not for the same text', async () => {
    const { reader, onCommit, input } = showField('ci');
    await reader.click(input);
    await reader.tab();
    expect(onCommit).not.toHaveBeenCalled();
    await reader.clear(input);
    await reader.tab();
    expect(onCommit.mock.calls).toEqual([['']]);
  });
});

test('a download that fails says why, and can be tried again', async () => {
  answerWith({ 'GET /requests': refusal(400, 'Name a workspace.') });
  const reader = show(<Download path="/requests" file="requests.csv" />);
  await reader.click(screen.getByRole('button', { name: 'Download CSV' }));
  expect(await screen.findByRole('alert')).toHaveTextContent('Name a workspace.');
  expect(screen.getByRole('button', { name: 'Download CSV' })).toBeEnabled();
});

describe('a table that sorts', () => {
  const rows = [
    { name: 'b', cost: 2 },
    { name: 'a', cost: 10 },
    { name: 'c', cost: 1 },
  ];
  const columns = [
    { title: 'Name', names: true, cell: ({ name }) => name, sortBy: ({ name }) => name },
    { title: 'Cost', cell: ({ cost }) => `$${cost}`, sortBy: ({ cost }) => cost },
  ] satisfies Parameters<typeof Table<(typeof rows)[number]>>[0]['columns'];
  const names = () => screen.getAllByRole('rowheader').map(({ textContent }) => textContent);
  const head = (name: string) => screen.getByRole('columnheader', { name: new RegExp(name) });

  test('begins as given, with the greatest number first, and turns round', async () => {
    const reader = show(<Table label="Costs" columns={columns} rows={rows} rowKey={({ name }) => name} />);
    expect(names()).toEqual(['b', 'a', 'c']);
    await reader.click(screen.getByRole('button', { name: 'Cost' }));
    expect(names()).toEqual(['a', 'b', 'c']);
    expect(head('Cost')).toHaveAttribute('aria-sort', 'descending');
    await reader.click(screen.getByRole('button', { name: /Cost/ }));
    expect(names()).toEqual(['c', 'b', 'a']);
    expect(head('Cost')).toHaveAttribute('aria-sort', 'ascending');
  });

  test('begins with the first text, by the keyboard too', async () => {
    const reader = show(<Table label="Costs" columns={columns} rows={rows} rowKey={({ name }) => name} />);
    screen.getByRole('button', { name: 'Name' }).focus();
    await reader.keyboard('{Enter}');
    expect(names()).toEqual(['a', 'b', 'c']);
    expect(head('Name')).toHaveAttribute('aria-sort', 'ascending');
    expect(head('Cost')).not.toHaveAttribute('aria-sort');
  });
});
