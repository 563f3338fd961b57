import { hash } from 'node:crypto';
import { hostname } from 'node:os';

/** A name for this gateway among the replicas of its namespace: several may run on one machine. */
export function replicaName(data: string): string {
  const host = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40);
  return `${host === '' ? 'weir' : host}-${hash('sha256', data).slice(0, 8)}`;
}
