import { X509Certificate } from 'node:crypto';
import type { Cluster } from '../core/catalog.ts';
import type { ObservedCertificate } from './service-problems.ts';

/** A certificate that callers see, as Envoy describes it. */
export interface EdgeCertificate {
  readonly names: readonly string[];
  readonly expiresAt: number;
}

export function edgeCertificate({ names, expiresAt }: EdgeCertificate): ObservedCertificate {
  return { object: `certificate/${names[0] ?? 'edge'}`, what: 'The certificate that callers see', expiresAt };
}

const pemOfOne = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The CA certificates by which a Backend is trusted: the bundle is good until its last one expires. Undefined: it has none of its own. */
export function trustedCertificate({ backend, tls }: Cluster): ObservedCertificate | undefined {
  if (tls.mode !== 'Custom') return undefined;
  const ends = [...tls.ca.matchAll(pemOfOne)].flatMap(([pem]) => endOf(pem));
  if (ends.length === 0) return undefined;
  const what = `${ends.length === 1 ? 'The CA certificate' : 'The last CA certificate'} of spec.tls.caSecretRef`;
  return { object: `Backend/${backend}`, what, expiresAt: Math.max(...ends) };
}

function endOf(pem: string): readonly number[] {
  try {
    return [new X509Certificate(pem).validToDate.getTime()];
  } catch {
    // Envoy refuses a cluster with such a text, and says so.
    return [];
  }
}
