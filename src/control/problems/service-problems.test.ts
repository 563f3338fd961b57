import { describe, expect, it } from 'vitest';
import { selfSigned } from '../../../test/support/self-signed.ts';
import type { Cluster } from '../../core/catalog.ts';
import { certificatesOf } from './service-problems.ts';

describe('the certificates by which a Backend is trusted', () => {
  const cluster = (ca: string): Cluster => ({
    ...{ name: 'c', backend: 'a', endpoints: { kind: 'hosts', hosts: [] } },
    tls: { mode: 'Custom', serverName: 'a', ca },
  });
  const end = Date.parse('2126-10-28T18:56:08Z');

  it.each([
    ['one', selfSigned.certificate, { what: 'The CA certificate of spec.tls', expiresAt: end }],
    ['two', selfSigned.certificate.repeat(2), { what: 'The last CA certificate of spec.tls' }],
    [
      'one with a text that is none',
      `${selfSigned.certificate}-----BEGIN CERTIFICATE-----\nxx\n-----END CERTIFICATE-----`,
      { expiresAt: end },
    ],
    ['none', 'nothing', undefined],
  ])('%s', (_, ca, expected) => {
    const found = certificatesOf(cluster(ca));
    expect(found).toMatchObject(expected === undefined ? [] : [{ object: 'Backend/a', ...expected }]);
    expect(found).toHaveLength(expected === undefined ? 0 : 1);
  });

  it('are none of a Backend that is trusted by those of the system', () => {
    expect(certificatesOf({ ...cluster(''), tls: { mode: 'System', serverName: 'a' } })).toEqual([]);
  });

  it('include the one that Weir shows', () => {
    const client = { certificate: selfSigned.certificate, key: 'k' };
    const shown = { object: 'Backend/a', what: 'The client certificate of spec.tls', expiresAt: end };
    expect(certificatesOf({ ...cluster(''), tls: { mode: 'System', serverName: 'a', client } })).toEqual([shown]);
  });
});
