import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { databaseFile } from './database-file.ts';

describe('databaseFile', () => {
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
    expect(databaseFile(from)).toBe(file);
  });

  it.each([
    ['postgres://weir:secret@db/weir', 'names a PostgreSQL database, which Weir cannot use'],
    ['postgresql://weir:secret@db/weir', 'names a PostgreSQL database'],
    ['mysql://weir:secret@db/weir', 'begins with "mysql:", which Weir does not know'],
    ['sqlite:', 'names no file'],
  ])('refuses %s without repeating what may be a password', (url, reason) => {
    const refuse = () => databaseFile({ url });
    expect(refuse).toThrow(reason);
    expect(refuse).not.toThrow('secret');
  });
});
