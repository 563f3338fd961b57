import type { Announcement, CatalogObject, KubeObject } from '../core/catalog.ts';
import { isWaived, type Notice, noticeOf } from './notice.ts';
import { isFields } from './is-fields.ts';

/** When a Model of a cluster leaves, by what it declares and what its status remembers; undefined: it stays. */
export function noticeFor(object: KubeObject, now: number): Notice | undefined {
  const retireAt = retireAtOf(object.declared.value);
  const deletedAt = moment(object.deletedAt);
  const leaving = {
    ...(retireAt === undefined ? {} : { retireAt }),
    ...(deletedAt === undefined ? {} : { deletedAt }),
    isWaived: isWaived(object.annotations),
  };
  return noticeOf(leaving, announcementOf(object.status), now);
}

/** When an object of a manifest folder leaves, by what it declares and what was announced before; undefined: it stays. */
export function noticeOfManifest(
  { value }: CatalogObject,
  recorded: Announcement | undefined,
  now: number,
): Notice | undefined {
  const retireAt = retireAtOf(value);
  if (retireAt === undefined || !isFields(value) || value['kind'] !== 'Model') return undefined;
  const metadata = isFields(value['metadata']) ? value['metadata'] : {};
  const annotations = isFields(metadata['annotations']) ? metadata['annotations'] : {};
  return noticeOf({ retireAt, isWaived: isWaived(annotations) }, recorded, now);
}

function retireAtOf(value: unknown): number | undefined {
  const spec = isFields(value) && isFields(value['spec']) ? value['spec'] : {};
  return moment(spec['retireAt']);
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
