set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
git init -q -b main .
echo text > file
git add file
git commit -q -m "a commit"
git log --format='%s by %an'
git status --short | wc -l
