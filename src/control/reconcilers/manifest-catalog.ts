/** The catalog of a manifest folder: its objects, without the models whose notice has run. */
import { join } from 'node:path';
import { type Notice, isSameList, noticeOfManifest, stayingAt } from '../catalog/notice.ts';
import { checkObject } from '../catalog/read-object.ts';
import { annotationsOf, kindOf, nameOf } from '../core/raw-object.ts';
import type { Announcement, CatalogObject, KubeObject } from '../../core/catalog.ts';
import type { CancelTimer, Clock } from '../../core/clock.ts';
import { messageOf } from '../../core/failure.ts';
import { createAnnouncementsFile } from '../manifests/announcements-file.ts';
import { parseManifest } from '../manifests/parse.ts';
import { startManifestParser } from '../manifests/parse-in-worker.ts';
import { openManifests } from '../manifests/watch.ts';
import { createSlices } from '../../process/turns.ts';
import { startThread } from '../../process/worker-thread.ts';
import type { Settings } from '../../process/settings/settings.ts';
import type { CatalogSource, CatalogSourceOptions } from './catalog-source.ts';
import { type FolderAccounts, followFolderAccounts } from './folder-accounts.ts';
import type { CatalogReading } from './follow-catalog.ts';

/**
 * Characters of the first reading that are parsed on the main thread. No requests wait for it yet, and starting the parser's thread
 * takes longer than parsing them.
 */
const maxCharactersHere = 32 * 1024;

/** Opens the catalog in the folder that the settings name. */
export async function openManifestFolder(settings: Settings, options: CatalogSourceOptions): Promise<CatalogSource> {
  const { log, clock } = options;
  let accounts: FolderAccounts | undefined;
  let latest: CatalogReading | undefined;
  const onChange = (reading: CatalogReading): void => {
    latest = reading;
    options.onChange(reading);
    accounts?.changed();
  };
  const parser = startManifestParser({ startThread });
  let charactersHere = maxCharactersHere;
  const inSlices = createSlices();
  const { first, announced, close } = await openManifestCatalog({
    clock,
    onChange,
    open: (changed) =>
      openManifests({
        dir: settings.WEIR_MANIFESTS,
        clock,
        onChange: changed,
        check: checkObject,
        parse: async (file, text) => {
          charactersHere -= text.length;
          const entries = charactersHere < 0 ? await parser.parse(file, text) : parseManifest(file, text);
          // The folder checks a whole file in one turn of the event loop. Results are remembered, so checking in slices
          // here keeps that turn short.
          await inSlices(entries, (entry) => entry.kind === 'object' && checkObject(entry.object));
          return entries;
        },
      }),
    announcements: createAnnouncementsFile(join(settings.WEIR_DATA, 'announcements.json')),
    onAnnounced: (model, { leavesAt }) =>
      log.info({ model, leavesAt: new Date(leavesAt).toISOString() }, 'model retirement announced'),
    onError: (error) => log.error({ error: messageOf(error) }, 'writing announced retirements failed'),
  });
  charactersHere = 0;
  return {
    first,
    join: ({ accounts: parts }) => {
      if (parts !== undefined) {
        accounts = followFolderAccounts({
          ...{ clock, log, data: settings.WEIR_DATA, accounts: parts },
          latest: () => latest ?? first,
        });
      }
      return {
        changed: () => undefined,
        // The catalog's objects have no status in a folder.
        isLeading: () => false,
        close: async () => accounts?.close(),
      };
    },
    previous: undefined,
    known: Promise.resolve(),
    compiled: () => undefined,
    objects: ({ results }) => [...results.keys()].flatMap((object) => declaredObject(object, announced())),
    close: async () => {
      // Close the folder first. Otherwise a reading that the parser breaks off would count as the whole folder.
      await Promise.all([close(), parser.close()]);
    },
  };
}

/** Announcements by the name of the Model. */
export type Announcements = ReadonlyMap<string, Announcement>;

interface ManifestCatalogOptions {
  /** Begins to follow the folder. Resolves with the first reading; `onChange` receives the later ones. */
  readonly open: (onChange: (reading: CatalogReading) => void) => Promise<Omit<FollowedFolder, 'announced'>>;
  /** Manifests have no status, so announcements are kept in a file of their own. */
  readonly announcements: {
    readonly load: () => Promise<Announcements>;
    readonly save: (announcements: Announcements) => Promise<void>;
  };
  readonly clock: Clock;
  /** Called with every reading after the first one that may change the catalog. */
  readonly onChange: (reading: CatalogReading) => void;
  /** A Model will leave. Called once for each date that the Model declares. */
  readonly onAnnounced: (name: string, notice: Notice) => void;
  /** The announcements cannot be written. */
  readonly onError: (error: unknown) => void;
}

/** A folder that is being followed, with its first reading. */
interface FollowedFolder {
  readonly first: CatalogReading;
  readonly announced: () => Announcements;
  readonly close: () => Promise<void>;
}

export async function openManifestCatalog(options: ManifestCatalogOptions): Promise<FollowedFolder> {
  const { clock, announcements, onAnnounced, onError } = options;
  let announced = await announcements.load();
  let saving = Promise.resolve();
  let cancelTimer: CancelTimer = () => undefined;

  /** Leaves out the models that have left. Runs again when the next model leaves. */
  function look(reading: CatalogReading): CatalogReading {
    const now = clock.now();
    const notices = new Map<string, Notice>();
    const leavesAtOf = (object: CatalogObject): number | undefined => {
      const name = String(nameOf(object));
      const notice = noticeOfManifest(object, announced.get(name), now);
      if (notice !== undefined) notices.set(name, notice);
      return notice?.leavesAt;
    };
    const { items: objects, lookAgainMs } = stayingAt(reading.objects, { now, leavesAtOf });
    announce(notices);
    cancelTimer();
    cancelTimer = clock.after(lookAgainMs, () => {
      const next = look(reading);
      if (!isSameList(objects, next.objects)) options.onChange(next);
    });
    return { objects, problems: reading.problems };
  }

  function announce(notices: ReadonlyMap<string, Notice>): void {
    const fresh = [...notices].filter(
      ([name, { announcedAt, announcedFor }]) =>
        announced.get(name)?.announcedAt !== announcedAt || announced.get(name)?.announcedFor !== announcedFor,
    );
    if (fresh.length === 0 && announced.size === notices.size) return;
    announced = notices;
    for (const [name, notice] of fresh) onAnnounced(name, notice);
    saving = saving.then(() => announcements.save(notices)).catch(onError);
  }

  const folder = await options.open((reading) => options.onChange(look(reading)));
  return {
    first: look(folder.first),
    announced: () => announced,
    close: async () => {
      await folder.close();
      cancelTimer();
      await saving;
    },
  };
}

/** A Model or Backend of the folder in the form of a cluster's object, so that its conditions are made in the same way. */
function declaredObject(object: CatalogObject, announced: Announcements): readonly KubeObject[] {
  const kind = kindOf(object);
  if (kind !== 'Model' && kind !== 'Backend') return [];
  const name = String(nameOf(object));
  const announcement = kind === 'Model' ? announced.get(name) : undefined;
  const isoOf = (at: number | undefined): string | undefined =>
    at === undefined ? undefined : new Date(at).toISOString();
  const status = announcement && {
    announcedAt: isoOf(announcement.announcedAt),
    announcedFor: isoOf(announcement.announcedFor),
  };
  const annotations = Object.fromEntries(
    Object.entries(annotationsOf(object)).map(([key, text]) => [key, String(text)]),
  );
  const unused = { uid: object.where, generation: 0, resourceVersion: '', finalizers: [] } as const;
  return [{ ...unused, kind, name, annotations, status, declared: object }];
}
