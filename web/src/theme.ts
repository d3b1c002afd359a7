// SPDX-License-Identifier: GPL-2.0-or-later
// Light and dark: as the system says, until the reader chooses.
import { useEffect, useState } from 'preact/hooks';

export type Choice = 'auto' | 'light' | 'dark';
const KEY = 'nest-theme';
const CHOICES: Choice[] = ['auto', 'light', 'dark'];

// A browser may forbid storage: then the choice holds for this page only.
function stored(): Choice {
  try {
    const value = localStorage.getItem(KEY) as Choice | null;
    return value && CHOICES.includes(value) ? value : 'auto';
  } catch {
    return 'auto';
  }
}

let choice = stored();

export function applyTheme(): void {
  if (choice === 'auto')
    delete document.documentElement.dataset.theme;
  else
    document.documentElement.dataset.theme = choice;
}

export function nextTheme(): Choice {
  choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length]!;
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // It holds for this page only.
  }
  applyTheme();
  window.dispatchEvent(new Event('nest-theme'));
  return choice;
}

// Changes when the colours do: what is drawn on a canvas is drawn again.
export function useTheme(): string {
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const current = () => `${choice} ${dark.matches}`;
  const [theme, setTheme] = useState(current);
  useEffect(() => {
    const changed = () => setTheme(current());
    window.addEventListener('nest-theme', changed);
    dark.addEventListener('change', changed);
    return () => {
      window.removeEventListener('nest-theme', changed);
      dark.removeEventListener('change', changed);
    };
  }, []);
  return theme;
}

export function themeChoice(): Choice {
  return choice;
}
