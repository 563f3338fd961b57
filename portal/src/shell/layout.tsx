import { useIsFetching } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { SessionObject } from '../../../src/portal/api/session.ts';
import { useSession, useSignOut } from '../data/session.ts';
import { Button } from '../parts/button.tsx';
import { onDemand } from '../parts/on-demand.tsx';
import { Segments } from '../parts/segments.tsx';
import icon from './icon.svg';
import { Icon } from './icons.tsx';
import { groupsOf } from './navigation.ts';
import { setTheme, useTheme } from './theme.ts';

const roleNames = {
  admin: 'Administrator',
  member: 'Member',
  key: 'API key',
  'service-account': 'Service account',
} as const;
const namesInWorkspace = { owner: 'Owner', member: 'Member', viewer: 'Viewer', key: 'API key' } as const;

/** The role of a session. In a single workspace, the role there. */
function roleName({ role, workspaces: [only, other] }: SessionObject): string {
  const inWorkspace = other === undefined ? (only?.role ?? null) : null;
  return role === 'member' && inWorkspace !== null ? namesInWorkspace[inWorkspace] : roleNames[role];
}

const Jump = onDemand(() => import('./jump.tsx').then((loaded) => loaded.Jump), null);

/** The page with its menu. On a phone the menu is above the page, behind a button. */
export function Layout({ children }: { readonly children: ReactNode }) {
  const [location] = useLocation();
  const [isOpen, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const shown = useRef(location);
  // Moves the focus of keyboard and screen reader to the new page.
  useEffect(() => {
    if (shown.current === location) return;
    shown.current = location;
    setOpen(false);
    scrollTo(0, 0);
    main.current?.focus();
  }, [location]);
  return (
    <div className="shell">
      <a className="button skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the page
      </a>
      <header className="top">
        <Brand />
        <Button
          kind="quiet"
          icon={isOpen ? 'close' : 'menu'}
          aria-label="Menu"
          aria-expanded={isOpen}
          aria-controls="menu"
          onPress={() => setOpen(!isOpen)}
        />
      </header>
      <Side isOpen={isOpen} />
      <main id="main" ref={main} tabIndex={-1}>
        <Progress />
        {children}
      </main>
    </div>
  );
}

function Brand() {
  return (
    <Link href="/" className="brand">
      <img src={icon} alt="" width={26} height={26} />
      Weir
    </Link>
  );
}

function Side({ isOpen }: { readonly isOpen: boolean }) {
  const session = useSession();
  const [location] = useLocation();
  const signOut = useSignOut();
  const theme = useTheme();
  return (
    <div className="side" id="menu" data-open={isOpen ? '' : undefined}>
      <Brand />
      {session.role !== 'key' && <JumpButton />}
      <nav className="menu" aria-label="Pages">
        {groupsOf(session).map((group) => (
          <ul key={group[0]?.path}>
            {group.map(({ path, title, icon: picture }) => (
              <li key={path}>
                <Link href={path} aria-current={location === path ? 'page' : undefined}>
                  <Icon name={picture} />
                  {title}
                </Link>
              </li>
            ))}
          </ul>
        ))}
      </nav>
      <div className="stack side-end">
        <Segments
          label="Colours"
          value={theme}
          onChange={setTheme}
          options={[
            { value: 'system', label: 'System' },
            { value: 'light', label: 'Light' },
            { value: 'dark', label: 'Dark' },
          ]}
        />
        <div className="who">
          <div>
            <div className="who-name cut">{session.name}</div>
            <div className="small muted">{roleName(session)}</div>
          </div>
          <Button kind="quiet" icon="leave" aria-label="Sign out" onPress={() => void signOut()} />
        </div>
      </div>
    </div>
  );
}

/** Opens the search for keys, workspaces, models and requests; Ctrl+K and ⌘K do, too. */
function JumpButton() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const open = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      setOpen(true);
    };
    document.addEventListener('keydown', open);
    return () => document.removeEventListener('keydown', open);
  }, []);
  return (
    <>
      <Button size="small" onPress={() => setOpen(true)}>
        Jump to … <kbd className="small muted">Ctrl K</kbd>
      </Button>
      {isOpen && <Jump onClose={() => setOpen(false)} />}
    </>
  );
}

const slowMs = 300;

/** An indicator that appears only when an answer is slow. */
function Progress() {
  const isFetching = useIsFetching() > 0;
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    if (!isFetching) return;
    const timer = setTimeout(() => setSlow(true), slowMs);
    return () => {
      clearTimeout(timer);
      setSlow(false);
    };
  }, [isFetching]);
  return isSlow ? <div className="progress" role="progressbar" aria-label="Loading" /> : null;
}
