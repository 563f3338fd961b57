interface StatusObject {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly status: unknown;
}

/** The status that was written over a version of an object. It counts until the watch has a newer version. */
interface Overlay {
  readonly over: string;
  readonly status: object;
}

/** Statuses that were written last, by the uid of their object. */
export interface StatusOverlays<Item extends StatusObject> {
  readonly wrote: (object: Item, status: object) => void;
  /** The object with the status that it has at the API server by now. */
  readonly current: (object: Item) => Item;
  readonly keepOnly: (alive: ReadonlySet<string>) => void;
  readonly clear: () => void;
}

export function createStatusOverlays<Item extends StatusObject>(): StatusOverlays<Item> {
  const overlays = new Map<string, Overlay>();
  return {
    wrote: ({ uid, resourceVersion }, status) => void overlays.set(uid, { over: resourceVersion, status }),
    current: (object) => {
      const overlay = overlays.get(object.uid);
      if (overlay?.over === object.resourceVersion) return { ...object, status: overlay.status };
      overlays.delete(object.uid);
      return object;
    },
    keepOnly: (alive) => {
      for (const uid of overlays.keys()) if (!alive.has(uid)) overlays.delete(uid);
    },
    clear: () => overlays.clear(),
  };
}
