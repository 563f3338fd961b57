import { useSyncExternalStore } from 'react';

/** `system` follows the setting of the machine. */
export type Theme = 'system' | 'light' | 'dark';

const kept = 'weir-theme';
const listeners = new Set<() => void>();
const system = matchMedia('(prefers-color-scheme: dark)');

let theme: Theme = readTheme();

function readTheme(): Theme {
  const value = localStorage.getItem(kept);
  return value === 'light' || value === 'dark' ? value : 'system';
}

function apply(): void {
  document.documentElement.style.colorScheme = theme === 'system' ? '' : theme;
}

function changed(): void {
  apply();
  for (const listener of listeners) listener();
}

apply();
system.addEventListener('change', changed);

export function setTheme(chosen: Theme): void {
  theme = chosen;
  if (chosen === 'system') localStorage.removeItem(kept);
  else localStorage.setItem(kept, chosen);
  changed();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The chosen theme. */
export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => theme);
}

/** The shown theme. If `system` is chosen, it is the theme of the machine. */
export function useShownTheme(): 'light' | 'dark' {
  return useSyncExternalStore(subscribe, () => (theme === 'system' ? (system.matches ? 'dark' : 'light') : theme));
}
