import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { databaseLocation } from './database-location.ts';
import { urlPerHost } from './postgres-hosts.ts';

it.each([
  ['postgres://u:p@a/db?x=1', ['postgres://u:p@a/db?x=1']],
  ['postgres://u:p@a:1,b:2/db?x=1', ['postgres://u:p@a:1/db?x=1', 'postgres://u:p@b:2/db?x=1']],
  ['postgres://u:p@[::1]:1,[::2]/db', ['postgres://u:p@[::1]:1/db', 'postgres://u:p@[::2]/db']],
  ['postgres:///db?host=a,b&port=5', ['postgres:///db?host=a&port=5', 'postgres:///db?host=b&port=5']],
  ['postgres:///db?host=a,b&port=5,6', ['postgres:///db?host=a&port=5', 'postgres:///db?host=b&port=6']],
  ['postgres:///db?host=%2Frun%2Fpg', ['postgres:///db?host=%2Frun%2Fpg']],
])('%s names the hosts %j', (url, urls) => {
  expect(urlPerHost(url)).toEqual(urls);
});

describe('databaseLocation', () => {
  it.each([
    [{}, resolve('.weir/weir.db')],
    [{ url: '' }, resolve('.weir/weir.db')],
    [{ data: 'here' }, resolve('here/weir.db')],
    [{ data: '/var/lib/weir' }, '/var/lib/weir/weir.db'],
    [{ data: '/var/lib/weir', url: 'sqlite:/other.db' }, '/var/lib/weir/weir.db'],
    [{ url: 'sqlite:accounts.db' }, resolve('accounts.db')],
    [{ url: 'sqlite:/var/accounts.db' }, '/var/accounts.db'],
    [{ url: 'sqlite:///var/accounts.db' }, '/var/accounts.db'],
    [{ url: 'file:///var/my%20accounts.db' }, '/var/my accounts.db'],
    [{ url: '/var/accounts.db' }, '/var/accounts.db'],
    [{ url: 'accounts.db' }, resolve('accounts.db')],
  ])('for %j it is %s', (from, file) => {
    expect(databaseLocation(from)).toEqual({ kind: 'sqlite', file });
  });

  it.each([
    'postgres://weir:secret@db/weir?sslmode=verify-full',
    'postgresql://db:5433/weir',
    'postgres:///weir?host=/var/run/postgresql',
    'postgres://weir:secret@a:5432,b:5433/weir?target_session_attrs=read-write',
    'postgres://a,b/weir?target_session_attrs=any',
    'postgres:///weir?host=a,b&port=5432,5433',
  ])('for %s it is PostgreSQL, unless a folder was named', (url) => {
    expect(databaseLocation({ url })).toEqual({ kind: 'postgres', url });
    expect(databaseLocation({ url, data: '/var/lib/weir' })).toEqual({ kind: 'sqlite', file: '/var/lib/weir/weir.db' });
  });

  it.each([
    ['postgres://weir:secret@db:port/weir', 'is not a URL'],
    ['postgres://weir:secret@a,b:port/weir', 'is not a URL'],
    ['postgres://weir:secret@a,b/weir?target_session_attrs=standby', 'Weir has to write'],
    ['mysql://weir:secret@db/weir', 'begins with "mysql:", which Weir does not know'],
    ['sqlite:', 'names no file'],
  ])('refuses %s without repeating what may be a password', (url, reason) => {
    const refuse = () => databaseLocation({ url });
    expect(refuse).toThrow(reason);
    expect(refuse).not.toThrow('secret');
  });
});
