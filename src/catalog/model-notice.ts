import type { KubeObject } from '../core/kube-object.ts';
import { type Announcement, isWaived, type Notice, noticeOf } from './notice.ts';
import { isFields } from './is-fields.ts';

/** When a Model of a cluster leaves, by what it declares and what its status remembers; undefined: it stays. */
export function noticeFor(object: KubeObject, now: number): Notice | undefined {
  const { value } = object.declared;
  const spec = isFields(value) && isFields(value['spec']) ? value['spec'] : {};
  const retireAt = moment(spec['retireAt']);
  const deletedAt = moment(object.deletedAt);
  const leaving = {
    ...(retireAt === undefined ? {} : { retireAt }),
    ...(deletedAt === undefined ? {} : { deletedAt }),
    isWaived: isWaived(object.annotations),
  };
  return noticeOf(leaving, announcementOf(object.status), now);
}

function announcementOf(status: unknown): Announcement | undefined {
  if (!isFields(status)) return undefined;
  const announcedAt = moment(status['announcedAt']);
  const announcedFor = moment(status['announcedFor']);
  if (announcedAt === undefined) return undefined;
  return { announcedAt, ...(announcedFor === undefined ? {} : { announcedFor }) };
}

function moment(text: unknown): number | undefined {
  const at = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}
