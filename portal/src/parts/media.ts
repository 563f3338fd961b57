import { useSyncExternalStore } from 'react';

const queries = new Map<string, MediaQueryList>();

/** Whether a query of the window holds: `(max-width: 600px)`. */
export function useMedia(query: string): boolean {
  let list = queries.get(query);
  if (list === undefined) queries.set(query, (list = matchMedia(query)));
  const found = list;
  return useSyncExternalStore(
    (listener) => {
      found.addEventListener('change', listener);
      return () => found.removeEventListener('change', listener);
    },
    () => found.matches,
  );
}
