import { Icon, type IconName } from "../components/Icon";
import { nextTheme, theme } from "../state/preferences";

const ICONS: Record<string, IconName> = { system: "system", light: "sun", dark: "moon" };

export function ThemeSwitch() {
  return (
    <button type="button" class="ghost square" aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value} (t)`} onClick={nextTheme}>
      <Icon name={ICONS[theme.value] ?? "system"} />
    </button>
  );
}
