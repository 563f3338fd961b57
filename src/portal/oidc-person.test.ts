import { describe, expect, it } from 'vitest';
import { readPortalSettings } from '../process/settings/read-settings.ts';
import { personOf } from './oidc.ts';

const { WEIR_OIDC_ADMINS: admins } = readPortalSettings({
  WEIR_OIDC_ADMINS: 'sub:42, email:ada@example.com, group:platform, bob@example.com',
});
const who = (claims: object) => personOf({ sub: 'x', ...claims }, { admins, groupsClaim: 'groups', idToken: '' });

describe('an admin', () => {
  it.each([
    [{ sub: '42' }],
    [{ email: 'ada@example.com', email_verified: true }],
    [{ email: 'bob@example.com', email_verified: true }],
    [{ groups: ['other', 'platform'] }],
  ])('is %j', (claims) => {
    expect(who(claims).isAdmin).toBe(true);
  });

  it.each([
    [{ sub: 'group:platform' }],
    [{ sub: 'platform' }],
    [{ sub: 'ada@example.com' }],
    [{ sub: 'email:ada@example.com' }],
    [{ email: 'ada@example.com' }],
    [{ email: 'ada@example.com', email_verified: 'true' }],
    [{ groups: ['42', 'ada@example.com', 'sub:42'] }],
    [{ preferred_username: 'ada@example.com' }],
  ])('is not %j', (claims) => {
    expect(who(claims).isAdmin).toBe(false);
  });

  it('is named by one kind, or the setting is refused', () => {
    expect(() => readPortalSettings({ WEIR_OIDC_ADMINS: 'ada' })).toThrow(
      'WEIR_OIDC_ADMINS: "ada": expected sub:SUBJECT, email:ADDRESS or group:NAME',
    );
  });
});

it.each([
  ['a\u0000b\r\nc', 'abc'],
  ['\u202Eadmin', 'admin'],
  ['x'.repeat(300), 'x'.repeat(200)],
  ['a\uD800', 'a'],
  ['\u0007', 'x'],
])('the name %j is shown as %j', (given, shown) => {
  expect(who({ preferred_username: given }).name).toBe(shown);
});
