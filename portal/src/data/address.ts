import { useCallback, useMemo } from 'react';
import { useSearchParams } from 'wouter';

type Selection = Readonly<Record<string, string | undefined>>;

/**
 * The selection of a page, kept in the query of the address, so that it can be shared and survives a reload. The second element
 * changes parts of it; undefined removes a part.
 */
export function useAddress(): readonly [Selection, (change: Selection) => void] {
  const [search, setSearch] = useSearchParams();
  const selection = useMemo(() => Object.fromEntries(search), [search]);
  const change = useCallback(
    (given: Selection) => {
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          for (const [name, value] of Object.entries(given)) {
            if (value === undefined || value === '') after.delete(name);
            else after.set(name, value);
          }
          return after;
        },
        { replace: true },
      );
    },
    [setSearch],
  );
  return [selection, change];
}
