print('this script ran')
