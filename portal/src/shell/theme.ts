import { storeOf, useStore } from '../data/store.ts';
import { useMedia } from '../parts/media.ts';

/** `system` follows the setting of the machine. */
export type Theme = 'system' | 'light' | 'dark';

const kept = 'weir-theme';
const theme = storeOf<Theme>(readTheme());
apply(theme.get());

function readTheme(): Theme {
  const value = localStorage.getItem(kept);
  return value === 'light' || value === 'dark' ? value : 'system';
}

function apply(chosen: Theme): void {
  document.documentElement.style.colorScheme = chosen === 'system' ? '' : chosen;
}

export function setTheme(chosen: Theme): void {
  if (chosen === 'system') localStorage.removeItem(kept);
  else localStorage.setItem(kept, chosen);
  apply(chosen);
  theme.set(chosen);
}

/** The chosen theme. */
export const useTheme = (): Theme => useStore(theme);

/** The shown theme. If `system` is chosen, it is the theme of the machine. */
export function useShownTheme(): 'light' | 'dark' {
  const chosen = useTheme();
  const isDark = useMedia('(prefers-color-scheme: dark)');
  return chosen === 'system' ? (isDark ? 'dark' : 'light') : chosen;
}
